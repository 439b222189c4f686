"""Functions of f64 by fused multiply-adds, in a third to a half of the time of what does without.

A product's rest, ``fma(a, b, -a * b)``, is one instruction with them, where others take numbers to
pieces (``helpers/math/f64.py``). All products that are added to are fused where they stand, or
exact, so that compilers have nothing to join and give the same bits. Processors that have no such
instruction have the other body.
"""

from __future__ import annotations

from string import Template

from polyopt.codegen.helpers.math.coefficients import CONSTANTS, F64
from polyopt.codegen.helpers.math.f64 import AFTER_HALF
from polyopt.codegen.helpers.math.parts import either

_EXP = """\
/* x = n ln(2) + high + low, with a whole number n */
static inline double fused_reduced_f64(double x, double *n, double *low) {
    *n = __builtin_fma(x, $log2e_long_0, 0x1.8p52) - 0x1.8p52;
    *low = __builtin_fma(*n, -$ln2_1, 0.0);
    return __builtin_fma(*n, -$ln2_0, x);
}

/* e^(high + low) - 1 - high, for |high| <= ln(2)/2 and a far smaller low: low + r^2 / 2 + r^2 p(r),
   where p makes the error least, 2^-57.9 of e^r (Remez, docs/coefficients.py), by Estrin's
   scheme */
static inline double fused_exp_rest_f64(double high, double low) {
    const double r = high + low;
    const double z = r * r;
    const double p0 = __builtin_fma($c1, r, $c0);
    const double p1 = __builtin_fma($c3, r, $c2);
    const double p2 = __builtin_fma($c5, r, $c4);
    const double p3 = __builtin_fma($c7, r, $c6);
    const double p4 = __builtin_fma($c9, r, $c8);
    const double next = __builtin_fma(__builtin_fma(p4, z, p3), z, p2);
    const double p = __builtin_fma(next, z * z, __builtin_fma(p1, z, p0));
    return __builtin_fma(p, z, __builtin_fma(0.5 * r, r, low));
}

"""
_LOG = """\
/* log_parts_f64, with p(z) by Estrin's scheme */
static inline double fused_log_parts_f64(double x, double *k, double *low) {
    const double m = any_mantissa_f64(x, 0x1.6a09e667f3bcdp-1, k);
    const double f = m - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double p0 = __builtin_fma($l1, z, $l0);
    const double p1 = __builtin_fma($l3, z, $l2);
    const double p2 = __builtin_fma($l5, z, $l4);
    const double next = __builtin_fma($l6, z * z, p2);
    const double p = __builtin_fma(__builtin_fma(next, z * z, p1), z * z, p0);
    const double g = 0.5 * f;
    const double half = __builtin_fma(g, f, 0.0);
    const double high = f - half;
    const double rest = ((f - high) - half) - __builtin_fma(g, f, -half);
    *low = __builtin_fma(s, __builtin_fma(z, p, half), rest);
    return high;
}

"""
_NUMBERS = {
    **CONSTANTS,
    **{f"c{k}": c for k, c in enumerate(AFTER_HALF)},
    **{f"l{k}": c for k, c in enumerate(F64["log"])},
}
#: functions of others, by the name of the first one in their text
INNER = {
    "fused_reduced_f64": Template(_EXP).substitute(_NUMBERS),
    "fused_log_parts_f64": Template(_LOG).substitute(_NUMBERS),
}


def _function(head: str, fused: str, otherwise: str) -> str:
    """A function with two bodies."""
    return Template(either(head, fused, otherwise, single=False)).substitute(_NUMBERS)


#: the functions that programs call
FUNCTIONS = {
    "exp_f64": _function(
        """\
/* e^x; error <= 0.8 ulp */
static inline double exp_f64(double x)""",
        """\
    const double t = x > 710.0 ? 710.0 : x;
    double n, low;
    const double high = fused_reduced_f64(t, &n, &low);
    const double value = exp_scaled_f64(high, fused_exp_rest_f64(high, low), n);
    return x < -746.0 ? 0.0 : value;
""",
        """\
    const double t = x > 710.0 ? 710.0 : x;
    const double n = whole_f64(times_f64(t, 0x1.71547652b82fep+0));
    double s;
    const double r = exp_reduced_f64(t, n, &s);
    const double value = exp_scaled_f64(r, exp_rest_f64(r, s), n);
    return x < -746.0 ? 0.0 : value;
""",
    ),
    "exp2_f64": _function(
        """\
/* 2^x; error <= 0.8 ulp */
static inline double exp2_f64(double x)""",
        """\
    const double t = x > 1025.0 ? 1025.0 : x;
    const double n = whole_f64(t);
    const double f = t - n;
    const double high = __builtin_fma(f, $ln2_long_0, 0.0);
    const double low = __builtin_fma(f, $ln2_long_1, __builtin_fma(f, $ln2_long_0, -high));
    const double value = exp_scaled_f64(high, fused_exp_rest_f64(high, low), n);
    return x < -1076.0 ? 0.0 : value;
""",
        """\
    const double t = x > 1025.0 ? 1025.0 : x;
    const double n = whole_f64(t);
    double s;
    const double r = times_ln2_f64(t - n, 0.0, &s);
    const double value = exp_scaled_f64(r, exp_rest_f64(r, s), n);
    return x < -1076.0 ? 0.0 : value;
""",
    ),
    "log_f64": _function(
        """\
/* ln(x); error <= 0.8 ulp */
static inline double log_f64(double x)""",
        """\
    double k, low;
    const double high = fused_log_parts_f64(x, &k, &low);
    const double whole = k * $ln2_0;
    const double sum = whole + high;
    const double rest = ((whole - sum) + high) + __builtin_fma(k, $ln2_1, low);
    return log_at_ends_f64(x, sum + rest);
""",
        """\
    double k, low;
    const double high = log_parts_f64(x, &k, &low);
    const double whole = k * $ln2_0;
    const double sum = whole + high;
    return log_at_ends_f64(x, sum + (((whole - sum) + high) + (low + k * $ln2_1)));
""",
    ),
    "log2_f64": _function(
        """\
/* log2(x); error <= 0.95 ulp */
static inline double log2_f64(double x)""",
        """\
    double k, low;
    const double high = fused_log_parts_f64(x, &k, &low);
    const double part = __builtin_fma(high, $log2e_long_0, 0.0);
    const double more = __builtin_fma(high, $log2e_long_0, -part);
    const double rest = __builtin_fma(low, $log2e_long_0, __builtin_fma(high, $log2e_long_1, more));
    const double sum = k + part;
    return log_at_ends_f64(x, sum + (((k - sum) + part) + rest));
""",
        """\
    double k, low;
    const double high = log_parts_f64(x, &k, &low);
    const double h = short_f64(high);
    const double part = h * $log2e_0;
    const double rest = times_f64((high - h) + low, $log2e_long_0) + times_f64(h, $log2e_1);
    const double sum = k + part;
    return log_at_ends_f64(x, sum + (((k - sum) + part) + rest));
""",
    ),
    "tanh_f64": _function(
        """\
/* tanh(x) = e / (e + 2) with e = exp(2 x) - 1 in two parts, for |x|; error <= 0.98 ulp */
static inline double tanh_f64(double x)""",
        """\
    const double a = __builtin_fabs(x);
    const double t = a > 20.0 ? 40.0 : a + a;
    double n, low;
    const double high = fused_reduced_f64(t, &n, &low);
    const double power = power_of_2_f64(n);
    const double sum = (power - 1.0) + power * high;
    const double more = ((power - 1.0) - sum) + power * high;
    const double rest = __builtin_fma(power, fused_exp_rest_f64(high, low), more);
    const double e0 = sum + rest;
    const double e1 = (sum - e0) + rest;
    const double d0 = e0 + 2.0;
    const double d1 = ((e0 - (d0 - (d0 - e0))) + (2.0 - (d0 - e0))) + e1;
    const double inverse = 1.0 / d0;
    const double q = __builtin_fma(e0, inverse, 0.0);
    const double left = __builtin_fma(-q, d0, e0) + __builtin_fma(-q, d1, e1);
    return __builtin_copysign(__builtin_fma(left, inverse, q), x);
""",
        """\
    const double a = __builtin_fabs(x);
    const double t = a > 20.0 ? 40.0 : 2.0 * a;
    const double n = whole_f64(times_f64(t, 0x1.71547652b82fep+0));
    double s, p1;
    const double r = exp_reduced_f64(t, n, &s);
    const double power = power_of_2_f64(n);
    const double sum = (power - 1.0) + power * r;
    const double rest = (((power - 1.0) - sum) + power * r) + power * exp_rest_f64(r, s);
    const double e0 = sum + rest;
    const double e1 = (sum - e0) + rest;
    const double d0 = e0 + 2.0;
    const double d1 = ((e0 - (d0 - (d0 - e0))) + (2.0 - (d0 - e0))) + e1;
    const double q = e0 / d0;
    const double p0 = product_f64(q, d0, &p1);
    const double more = ((e0 - p0) - p1) + (e1 - times_f64(q, d1));
    const double value = q + more / d0;
    return a < 0x1p-28 ? x : __builtin_copysign(value, x);
""",
    ),
}
