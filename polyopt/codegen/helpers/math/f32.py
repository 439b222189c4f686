"""Functions of f32, worked out in doubles: they round to the nearest float nearly always.

All are straight lines of arithmetic and choices, which compilers turn into vectors inside of loops.
Errors are the largest over all floats, as ``docs/math.md`` measures them; for ``pow`` over samples.
"""

from __future__ import annotations

from string import Template

from polyopt.codegen.helpers.math.coefficients import F32, TWO_OVER_PI_F32
from polyopt.codegen.helpers.math.parts import polynomial

_EXP = Template("""\
/* 2^t, for -1000 <= t <= 1000. 2^t = 2^n 2^r with whole n and |r| <= 1/2; (2^r - 1) / r is a
   polynomial of least relative error, 2^-32 (Remez, docs/coefficients.py) */
static inline double less_1_of_exp2(double r) {
$polynomial
    return times_f64(p, r);
}

static inline double exp2_in_f64(double t) {
    const double n = whole_f64(t);
    return power_of_2_f64(n) * (1.0 + less_1_of_exp2(t - n));
}

""")
_EXPM1 = """\
/* 2^t - 1, also near 0 */
static inline double exp2m1_in_f64(double t) {
    const double n = whole_f64(t);
    const double power = power_of_2_f64(n);
    return power * less_1_of_exp2(t - n) + (power - 1.0);
}

"""
_LOG = Template("""\
/* log2(x) of a positive normal x. x = 2^k m with 1/sqrt(2) <= m < sqrt(2); with
   s = (m - 1) / (m + 1), log2(m) / s is a polynomial in s^2, of least relative error, 2^-37.8
   (Remez, docs/coefficients.py) */
static inline double log2_in_f64(double x) {
    double k;
    const double m = mantissa_f64(x, 0x1.6a09e667f3bcdp-1, &k);
    const double s = (m - 1.0) / (m + 1.0);
    const double z = s * s;
$polynomial
    return times_f64(p, s) + k;
}

""")
_LOG_AT_ENDS = """\
/* a logarithm of x that is known for positive finite ones */
static inline float log_at_ends_f32(float x, float log) {
    const float other = x > 0.0f ? x : x == 0.0f ? -__builtin_inff() : __builtin_nanf("");
    return x > 0.0f && x < __builtin_inff() ? log : other;
}

"""
_TURN = Template("""\
/* 2/pi 2^(8 i - 54) without multiples of 4, in three parts of 22, 22 and 53 bits
   (docs/coefficients.py) */
static const double two_over_pi_f32[3][$count] = {
$rows
};

/* |x| in quarters of a turn: what is beyond the nearest whole number of them, from -1/2 to 1/2.
   |x| = m 2^(8 i - 54) with m a whole number of up to 31 bits, so that m times the first two parts
   is exact; for |x| < 2^-31 it is 2^-31 */
static inline double turned_f32(float x, double *quarters) {
    const float a = __builtin_fabsf(x);
    const uint64_t bits = bits_f64(a < 0x1p-31f ? 0x1p-31f : a);
    const int64_t i = (int64_t)((bits - bits_f64(0x1p-31)) >> 55);
    const double m = of_bits_f64(bits + ((uint64_t)54 << 52) - ((uint64_t)i << 55));
    const double high = m * two_over_pi_f32[0][i];
    const double first = whole_f64(high);
    const double middle = (high - first) + m * two_over_pi_f32[1][i];
    const double second = whole_f64(middle);
    *quarters = first + second;
    return (middle - second) + times_f64(m, two_over_pi_f32[2][i]);
}

/* sin(pi/2 f) and cos(pi/2 f) for |f| <= 1/2: polynomials in z = f^2 of least relative error,
   2^-37.7 and 2^-34 (Remez, docs/coefficients.py) */
static inline double sine_f32(double f, double z) {
$sine
    return p * f;
}

static inline double cosine_f32(double z) {
$cosine
    return p;
}

""")

#: functions of others, by the name of the first one in their text
INNER = {
    "less_1_of_exp2": _EXP.substitute(polynomial=polynomial(F32["exp2"], "r")),
    "exp2m1_in_f64": _EXPM1,
    "log2_in_f64": _LOG.substitute(polynomial=polynomial(F32["log2"], "z")),
    "log_at_ends_f32": _LOG_AT_ENDS,
    "turned_f32": _TURN.substitute(
        count=len(TWO_OVER_PI_F32[0]),
        rows=",\n".join(
            "    {\n" + "".join(f"        {number},\n" for number in part) + "    }"
            for part in TWO_OVER_PI_F32
        ),
        sine=polynomial(F32["sin"], "z"),
        cosine=polynomial(F32["cos"], "z"),
    ),
}

#: the functions that programs call
FUNCTIONS = {
    "log_f32": """\
/* ln(x) = log2(x) ln(2); error <= 0.501 ulp */
static inline float log_f32(float x) {
    return log_at_ends_f32(x, (float)(log2_in_f64(x) * 0x1.62e42fefa39efp-1));
}

""",
    "log2_f32": """\
/* log2(x); error <= 0.501 ulp */
static inline float log2_f32(float x) {
    return log_at_ends_f32(x, (float)log2_in_f64(x));
}

""",
    "pow_f32": """\
/* x^y = 2^(y log2(|x|)), with the sign and the ends that C (Annex F) gives it; error <= 0.51 ulp */
static inline float pow_f32(float x, float y) {
    const double a = __builtin_fabsf(x);
    const double b = y;
    const double log = a > 0.0 ? log2_in_f64(a) : -1e300;
    const double t = times_f64(b, a < __builtin_inf() ? log : a + 1e300);
    const double r = exp2_in_f64(t > 200.0 ? 200.0 : t < -200.0 ? -200.0 : t);
    const double n = chosen_f64(__builtin_fabs(b) < 0x1p25, b, 2.0);
    const int is_whole = whole_f64(n) == n;
    const double negative = chosen_f64(is_whole & is_odd_f64(n), -r, r);
    const double broken = chosen_f64(is_whole, negative, __builtin_nan(""));
    const double below = x > -__builtin_inff() && x < 0.0f ? broken : negative;
    const double found = __builtin_copysign(1.0, x) < 0.0 ? below : r;
    const double base = chosen_f64(__builtin_fabs(b) == __builtin_inf(), a, x);
    const double known = base == 1.0 ? 1.0 : chosen_f64(b == b, found, b);
    return (float)chosen_f64(b == 0.0, 1.0, known);
}

""",
    "sin_f32": """\
/* sin(x), by quarters of a turn; error <= 0.502 ulp */
static inline float sin_f32(float x) {
    const float a = __builtin_fabsf(x);
    double n;
    const double f = turned_f32(x, &n);
    const double z = f * f;
    const double y = is_odd_f64(n) ? cosine_f32(z) : sine_f32(f, z);
    const double half = whole_f64(0.5 * n - 0.25);
    const float value = (float)(is_odd_f64(half) ? -y : y);
    const float known = a < 0x1p-13f ? a : value;
    return a < __builtin_inff() ? (x < 0.0f ? -known : x == 0.0f ? x : known) : __builtin_nanf("");
}

""",
    "cos_f32": """\
/* cos(x), by quarters of a turn; error <= 0.502 ulp */
static inline float cos_f32(float x) {
    double n;
    const double f = turned_f32(x, &n);
    const double z = f * f;
    const double y = is_odd_f64(n) ? sine_f32(f, z) : cosine_f32(z);
    const double half = whole_f64(0.5 * n + 0.25);
    const float value = (float)(is_odd_f64(half) ? -y : y);
    return __builtin_fabsf(x) < __builtin_inff() ? value : __builtin_nanf("");
}

""",
    "tan_f32": """\
/* tan(x), by quarters of a turn; error <= 0.502 ulp */
static inline float tan_f32(float x) {
    const float a = __builtin_fabsf(x);
    double n;
    const double f = turned_f32(x, &n);
    const double z = f * f;
    const double sine = sine_f32(f, z), cosine = cosine_f32(z);
    const int odd = is_odd_f64(n);
    const float value = (float)((odd ? -cosine : sine) / (odd ? sine : cosine));
    const float known = a < 0x1p-13f ? a : value;
    return a < __builtin_inff() ? (x < 0.0f ? -known : x == 0.0f ? x : known) : __builtin_nanf("");
}

""",
}
