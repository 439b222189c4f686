"""Functions of f64: sums and products in two doubles where one would lose too much.

All are straight lines of arithmetic and choices, as those of f32 are. A sum ``a + b`` with
``(a - sum) + b`` is exact where ``a`` is the larger one (Dekker 1971), and a product of numbers of
26 bits is; no compiler can join what is exact in a way that changes it.
"""

from __future__ import annotations

from string import Template

from polyopt.codegen.helpers.math.coefficients import CONSTANTS, F64
from polyopt.codegen.helpers.math.parts import HAS_FMA, polynomial

#: coefficients of e^r without r^2 / 2, which is exact
AFTER_HALF = ((float.fromhex(F64["exp"][0]) - 0.5).hex(), *F64["exp"][1:])
_TWO = f"""\
/* x with its last 27 bits cleared: the product of two such numbers is exact */
static inline double short_f64(double x) {{
    return of_bits_f64(bits_f64(x) & ~(uint64_t)0x7ffffff);
}}

/* a * b in two parts */
static inline double product_f64(double a, double b, double *low) {{
#if {HAS_FMA}
    const double p = __builtin_fma(a, b, 0.0);
    *low = __builtin_fma(a, b, -p);
#else
    const double p = times_f64(a, b);
    const double a0 = short_f64(a), a1 = a - a0, b0 = short_f64(b), b1 = b - b0;
    *low = ((a0 * b0 - p) + a0 * b1 + a1 * b0) + times_f64(a1, b1);
#endif
    return p;
}}

"""
_EXP = Template("""\
/* e^(r + s) - 1 - r for |r| <= 0.35 and a much smaller s: s + r s + r^2 / 2 + r^2 p(r), where p is
   a polynomial that makes the error least, 2^-57.9 of e^r (Remez, docs/coefficients.py) */
static inline double exp_rest_f64(double r, double s) {
$polynomial
    const double r0 = short_f64(r);
    const double rest = times_f64(0.5 * (r - r0), r + r0) + times_f64(r * r, p);
    return 0.5 * r0 * r0 + (s + (times_f64(r, s) + rest));
}

/* (1 + r + rest) 2^n, where n may be too small or too large for one power */
static inline double exp_scaled_f64(double r, double rest, double n) {
    const double one = 1.0 + r;
    const double value = one + (((1.0 - one) + r) + rest);
    const double half = whole_f64(0.5 * n);
    return value * power_of_2_f64(half) * power_of_2_f64(n - half);
}

/* x = n ln(2) + r + s */
static inline double exp_reduced_f64(double x, double n, double *s) {
    const double high = x - n * $ln2_0;
    const double low = n * $ln2_1;
    const double r = high - low;
    *s = (high - r) - low;
    return r;
}

/* (f + low) ln(2) = r + s, for |f| <= 1/2 and a much smaller low */
static inline double times_ln2_f64(double f, double low, double *s) {
    const double f0 = short_f64(f);
    const double high = f0 * $ln2_short_0;
    const double rest = (f - f0) * $ln2_short_0
        + (times_f64(f, $ln2_short_1) + times_f64(low, 0x1.62e42fefa39efp-1));
    const double r = high + rest;
    *s = (high - r) + rest;
    return r;
}

""")
_LOG = Template("""\
/* mantissa_f64 of a positive finite x, also of those below the normal ones */
static inline double any_mantissa_f64(double x, double least, double *k) {
    const int tiny = x < 0x1p-1022;
    const double m = mantissa_f64(tiny ? x * 0x1p54 : x, least, k);
    *k -= tiny ? 54.0 : 0.0;
    return m;
}

/* x = 2^k m with 1/sqrt(2) <= m < sqrt(2), and log(m) = high + low, for positive finite x. With
   f = m - 1 and s = f / (2 + f), log(m) = f - f^2 / 2 + s (f^2 / 2 + s^2 p(s^2)), where p is a
   polynomial of least error, 2^-59.5 of log(m) (Remez, docs/coefficients.py) */
static inline double log_parts_f64(double x, double *k, double *low) {
    const double m = any_mantissa_f64(x, 0x1.6a09e667f3bcdp-1, k);
    const double f = m - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
$polynomial
    const double f0 = short_f64(f);
    const double half = 0.5 * f0 * f0;
    const double high = f - half;
    *low = (((f - high) - half) - times_f64(0.5 * (f - f0), f + f0))
        + times_f64(s, times_f64(0.5 * f, f) + times_f64(z, p));
    return high;
}

/* a logarithm of x that is known for positive finite ones */
static inline double log_at_ends_f64(double x, double log) {
    const double other = x > 0.0 ? x : x == 0.0 ? -__builtin_inf() : __builtin_nan("");
    return x > 0.0 && x < __builtin_inf() ? log : other;
}

""")
_LOG_FOR_POW = Template("""\
/* log2(x) in two parts, together of some 68 bits, for positive finite x. x = 2^k c (m / c) with
   c = 1 or 3/2; with s = (m - c) / (m + c), log(m / c) = 2 s (1 + z / 3 + z^2 p(z)) for z = s^2,
   where p is a polynomial of least error, 2^-71 (Remez, docs/coefficients.py) */
static inline double log2_parts_f64(double x, double *low) {
    double k;
    const double m = any_mantissa_f64(x, 0x1.bb67ae8584caap-1, &k);
    const int upper = m > 0x1.3988e1409212ep+0;
    const double c = upper ? 1.5 : 1.0;
    const double f = m - c;
    const double d0 = m + c;
    const double d1 = (m - (d0 - (d0 - m))) + (c - (d0 - m));
    const double inverse = 1.0 / d0;
    double p1, z1, t1, u1, g1;
    const double s0 = times_f64(f, inverse);
    const double p0 = product_f64(s0, d0, &p1);
    const double s1 = times_f64(((f - p0) - p1) - times_f64(s0, d1), inverse);
    const double z0 = product_f64(s0, s0, &z1);
$polynomial
    const double z2 = z1 + times_f64(2.0 * s0, s1);
    const double t0 = product_f64(z0, $third_0, &t1);
    const double t2 = t1 + (times_f64(z2, $third_0)
        + (times_f64(z0, $third_1) + times_f64(z0 * z0, p)));
    const double u0 = product_f64(s0, t0, &u1);
    const double high = s0 + u0;
    const double rest = ((s0 - high) + u0) + (s1 + (u1 + (times_f64(s0, t2) + times_f64(s1, t0))));
    const double g0 = product_f64(high, 2.0 * $log2e_long_0, &g1);
    const double g2 = g1 + (times_f64(rest, 2.0 * $log2e_long_0)
        + times_f64(high, 2.0 * $log2e_long_1));
    const double whole = k + (upper ? $log2_of_1_5_0 : 0.0);
    const double sum = whole + g0;
    const double more = ((whole - sum) + g0) + (g2 + (upper ? $log2_of_1_5_1 : 0.0));
    const double result = sum + more;
    *low = (sum - result) + more;
    return result;
}

""")

#: functions of others
INNER = {
    "product_f64": _TWO,
    "exp_rest_f64": _EXP.substitute(CONSTANTS, polynomial=polynomial(AFTER_HALF, "r")),
    "any_mantissa_f64": _LOG.substitute(polynomial=polynomial(F64["log"], "z")),
    "log2_parts_f64": _LOG_FOR_POW.substitute(CONSTANTS, polynomial=polynomial(F64["pow"], "z0")),
}

#: the functions that programs call
FUNCTIONS = {
    "erf_f64": Template("""\
/* erf(x) = x p(x^2 - 3/4) for |x| < 9/8, with the first terms in two parts, and
   1 - e^(-x^2) q((x - 9/8) / (x + 2)) from there to 6, where p and q are polynomials that make the
   error least (Remez, docs/coefficients.py); error <= 0.9 ulp */
static inline double erf_f64(double x) {
    const double a = __builtin_fabs(x);
    double z1, q1, v1;
    const double z0 = product_f64(a < 1.125 ? a : 1.0, a < 1.125 ? a : 1.0, &z1);
    const double w = z0 - 0.75;
$small
    const double q0 = product_f64(w, $linear, &q1);
    const double whole = $constant + q0;
    const double rest = (($constant - whole) + q0) + (q1 + ($constant_rest
        + (times_f64((z0 - (w + 0.75)) + z1, $linear) + times_f64(w * p, w))));
    const double v0 = product_f64(a, whole, &v1);
    const double below = v0 + (v1 + times_f64(a, rest));
    const double t = a > 6.0 ? 6.0 : a;
    const double u = (t - 1.125) / (t + 2.0);
$large
    double square, s, c1;
    const double minus = -product_f64(t, t, &square);
    const double n = whole_f64(times_f64(minus, 0x1.71547652b82fep+0));
    const double r = exp_reduced_f64(minus, n, &s);
    const double e = exp_scaled_f64(r, exp_rest_f64(r, s - square), n);
    const double c0 = product_f64(e, q, &c1);
    const double first = 1.0 - c0;
    const double above = first + (((1.0 - first) - c0) - c1);
    const double least = a * 0x1.20dd750429b6dp+0;
    const double value = a < 0x1p-500 ? least : a < 1.125 ? below : above;
    return a == a ? __builtin_copysign(value, x) : x;
}

""").substitute(
        small=polynomial(F64["erf"][3:], "w"),
        constant=F64["erf"][0],
        linear=F64["erf"][2],
        constant_rest=F64["erf"][1],
        large=polynomial(F64["erfcx"], "u", "q"),
    ),
    "pow_f64": """\
/* x^y = 2^(y log2(|x|)), with log2 in two parts, and the sign and the ends that C (Annex F) gives
   it; error <= 0.85 ulp */
static inline double pow_f64(double x, double y) {
    const double a = __builtin_fabs(x), b = __builtin_fabs(y);
    double l1, p1, s;
    const double log = log2_parts_f64(a, &l1);
    const double v = chosen_f64(b > 0x1p66, __builtin_copysign(0x1p66, y), y);
    const double p0 = product_f64(v, log, &p1);
    const double more = p1 + times_f64(v, l1);
    const double inner = p0 > 1100.0 ? 1100.0 : p0 < -1100.0 ? -1100.0 : p0;
    const double outer = __builtin_copysign(1100.0, a > 1.0 ? y : -y);
    const double t = a > 0.0 && a < __builtin_inf() ? inner : a == a ? outer : a;
    const double n = whole_f64(t);
    const double r = times_ln2_f64(t - n, t == p0 ? more : 0.0, &s);
    const double value = exp_scaled_f64(r, exp_rest_f64(r, s), n);
    const double whole = chosen_f64(b < 0x1p52, b, 2.0);
    const double half = 0.5 * chosen_f64(b < 0x1p53, b, 4.0);
    const int is_whole = whole + 0x1p52 - 0x1p52 == whole;
    const int is_odd = is_whole & (half + 0x1p52 - 0x1p52 != half);
    const double negative = chosen_f64(is_odd, -value, value);
    const double broken = chosen_f64(is_whole, negative, __builtin_nan(""));
    const double below = x < 0.0 && a < __builtin_inf() ? broken : negative;
    const double found = __builtin_copysign(1.0, x) < 0.0 ? below : value;
    const double base = chosen_f64(b == __builtin_inf(), a, x);
    const double known = base == 1.0 ? 1.0 : chosen_f64(y == y, found, y);
    return chosen_f64(y == 0.0, 1.0, known);
}

""",
}
