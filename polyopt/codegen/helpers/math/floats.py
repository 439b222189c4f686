"""Functions of f32, worked out in floats by fused multiply-adds: a third of the time of doubles.

All products that are added to are fused where they stand, so that compilers have nothing to join
and give the same bits. For processors without fused multiply-adds there are doubles
(``helpers/math/f32.py``), which are quicker there than what would stand for these in floats.
Errors are bounds over all floats; ``docs/math.md`` measures every ninth.

Arguments are limited on one side before, results on the other one after: of two limits in a row
gcc makes ten instructions, for it follows what the first comparison says of the second.
"""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

from polyopt.codegen.helpers.math.coefficients import CONSTANTS_F32, F32, FLOATS
from polyopt.codegen.helpers.math.parts import either, polynomial

if TYPE_CHECKING:
    from collections.abc import Sequence


def _polynomial(coefficients: Sequence[str], of: str, name: str) -> str:
    """Statements that declare ``name``: a polynomial by Horner's rule, constant term first."""
    *rest, last = coefficients
    lines = [f"    float {name} = {last};"]
    lines += [f"    {name} = __builtin_fmaf({name}, {of}, {k});" for k in reversed(rest)]
    return "\n".join(lines)


_EXPM1 = Template("""\
/* e^(r + low) - 1, for |r| <= ln(2)/2 and a far smaller low; (e^r - 1 - r) / r^2 is a polynomial of
   least relative error, 2^-27.8 (Remez, docs/coefficients.py), by Estrin's scheme: the chain is
   shorter than Horner's, and processors have room for the rest beside it */
static inline float near_expm1_f32(float high, float low) {
    const float r = high + low;
    const float z = r * r;
    const float first = __builtin_fmaf($c1, r, $c0);
    const float next = __builtin_fmaf($c4, z, __builtin_fmaf($c3, r, $c2));
    return high + __builtin_fmaf(__builtin_fmaf(next, z, first), z, low);
}

/* p where e^(x + low) = 2^n (1 + p), with n a whole number; *n is n + 3/2 2^23 */
static inline float reduced_exp_f32(float x, float low, float *n) {
    *n = __builtin_fmaf(x, $log2e, 0x1.8p23f);
    const float whole = *n - 0x1.8p23f;
    const float high = __builtin_fmaf(whole, -$ln2_short_0, x);
    return near_expm1_f32(high, __builtin_fmaf(whole, -$ln2_short_1, low));
}

""")
_SCALED = """\
/* 2^n x for -160 <= n <= 250, where the bits of shifted are those of n + 3/2 2^23 */
static inline float scaled_f32(float x, float shifted) {
    const int32_t n = (int32_t)(bits_f32(shifted) << 9) >> 9;
    const int32_t half = n >> 1;
    const float power = of_bits_f32((uint32_t)(half + 127) << 23);
    return x * power * of_bits_f32((uint32_t)(n - half + 127) << 23);
}

"""

#: functions of others, by the name of the first one in their text
INNER = {
    "near_expm1_f32": _EXPM1.substitute(
        CONSTANTS_F32, **{f"c{k}": c for k, c in enumerate(FLOATS["exp"])}
    ),
    "scaled_f32": _SCALED,
}


def _function(head: str, fused: str, doubles: str, **constants: str) -> str:
    """A function with two bodies."""
    text = Template(either(head, fused, doubles, single=True))
    return text.substitute(CONSTANTS_F32, **constants)


#: the functions that programs call
FUNCTIONS = {
    "exp_f32": _function(
        """\
/* e^x; error <= 0.91 ulp */
static inline float exp_f32(float x)""",
        """\
    float n;
    const float t = x > 89.0f ? 89.0f : x;
    const float p = reduced_exp_f32(t, 0.0f, &n);
    const float value = scaled_f32(1.0f + p, n);
    return x < -104.0f ? 0.0f : value;
""",
        """\
    const float t = x > 89.0f ? 89.0f : x < -105.0f ? -105.0f : x;
    return (float)exp2_in_f64(times_f64(t, 0x1.71547652b82fep+0));
""",
    ),
    "exp2_f32": _function(
        """\
/* 2^x = 2^n e^(r ln(2)) with whole n and |r| <= 1/2; error <= 0.89 ulp */
static inline float exp2_f32(float x)""",
        """\
    const float t = x > 129.0f ? 129.0f : x;
    const float n = t + 0x1.8p23f;
    const float r = t - (n - 0x1.8p23f);
    const float high = __builtin_fmaf(r, $ln2_0, 0.0f); /* a product that is joined with nothing */
    const float low = __builtin_fmaf(r, $ln2_1, __builtin_fmaf(r, $ln2_0, -high));
    const float value = scaled_f32(1.0f + near_expm1_f32(high, low), n);
    return x < -151.0f ? 0.0f : value;
""",
        """\
    const float t = x > 129.0f ? 129.0f : x < -151.0f ? -151.0f : x;
    return (float)exp2_in_f64(t);
""",
    ),
    "erf_f32": _function(
        """\
/* erf(x): to 1 x + x p(x^2), where p is a polynomial of least relative error, 2^-27.8; beyond,
   1 - e^(-x q(x)), where q makes erf's error least, 2^-27.3. In doubles 1 - 2^(-x p(x)), where p
   makes erf's relative error least, 2^-31 (Remez, docs/coefficients.py); error <= 0.998 ulp */
static inline float erf_f32(float x)""",
        """\
    const float a = __builtin_fabsf(x);
    const float z = a * a;
$near
    const float t = a > 4.0f ? 4.0f : a;
$far
    const float u = t * q;
    float n;
    const float r = reduced_exp_f32(-u, __builtin_fmaf(-t, q, u), &n);
    const float power = of_bits_f32((bits_f32(n) << 23) + 0x3f800000);
    const float far = __builtin_fmaf(-power, r, 1.0f - power);
    const float near = __builtin_fmaf(p, x, x);
    return a <= 1.0f ? near : __builtin_copysignf(far, x);
""",
        """\
    const float a = __builtin_fabsf(x);
    const double t = a > 4.0f ? 4.0f : a;
$wide
    return __builtin_copysignf((float)exp2m1_in_f64(times_f64(p, -t)), x);
""",
        near=_polynomial(FLOATS["erf"], "z", "p"),
        far=_polynomial(FLOATS["erfc"], "t", "q"),
        wide=polynomial(F32["erf"], "t"),
    ),
    "tanh_f32": _function(
        """\
/* tanh(x): to 1 x + x z p(z) with z = x^2, where p makes tanh's relative error least, 2^-27.6;
   beyond, 1 - 2 / (1 + e^(2 x)). In doubles e / (e + 2) with e = e^(2 x) - 1 (Remez,
   docs/coefficients.py); error <= 0.94 ulp */
static inline float tanh_f32(float x)""",
        """\
    const float a = __builtin_fabsf(x);
    const float z = a * a;
$near
    const float t = a > 10.0f ? 10.0f : a;
    float n;
    const float r = reduced_exp_f32(t + t, 0.0f, &n);
    const float power = of_bits_f32((bits_f32(n) << 23) + 0x3f800000);
    const float far = 1.0f - 2.0f / __builtin_fmaf(power, r, 1.0f + power);
    const float near = __builtin_fmaf(p * z, a, a);
    return __builtin_copysignf(a <= 1.0f ? near : far, x);
""",
        """\
    const float a = __builtin_fabsf(x);
    const double t = a > 10.0f ? 10.0f : a;
    const double e = exp2m1_in_f64(times_f64(t, 0x1.71547652b82fep+1));
    return __builtin_copysignf((float)(e / (e + 2.0)), x);
""",
        near=_polynomial(FLOATS["tanh"], "z", "p"),
    ),
}
