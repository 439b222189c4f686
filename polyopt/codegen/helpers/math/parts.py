"""What math functions in C are made of: bits of doubles, products that round alike everywhere.

Compilers may join a product with the addition behind it (fma), which rounds once instead of twice,
and do so in one loop and not in another. ``times_f64`` keeps them from it on every compiler and
under all flags: it clears the last bit of its product, so that there is something between. Where
products are not guarded they are exact, or nothing is added to them. ``fused_f64`` rounds once
where processors have an instruction for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: whether there are instructions for fused multiply-adds: of floats, of doubles
_HAS = "defined(__FMA__) || defined({}) || defined(__ARM_FEATURE_FMA)"
HAS_FMAF, HAS_FMA = _HAS.format("__FP_FAST_FMAF"), _HAS.format("__FP_FAST_FMA")

#: functions by name, each after those that it calls
BASE = {
    "bits_f64": """\
static inline uint64_t bits_f64(double x) {
    uint64_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
""",
    "of_bits_f64": """\
static inline double of_bits_f64(uint64_t bits) {
    double x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
""",
    "times_f64": """\
/* a * b with its last bit cleared: no compiler joins it with an addition (fma), so that all give
   the same bits */
static inline double times_f64(double a, double b) {
    return of_bits_f64(bits_f64(a * b) & ~(uint64_t)1);
}
""",
    "fused_f64": f"""\
/* a * b + c: rounded once where processors can, or with the product's last bit cleared */
static inline double fused_f64(double a, double b, double c) {{
#if {HAS_FMA}
    return __builtin_fma(a, b, c);
#else
    return times_f64(a, b) + c;
#endif
}}
""",
    "chosen_f64": """\
/* a or b, by bits: a condition that is the same for all lanes of a vector stays a number, where
   compilers have no vectors for choices by it */
static inline double chosen_f64(int condition, double a, double b) {
    const uint64_t mask = -(uint64_t)condition;
    return of_bits_f64((bits_f64(a) & mask) | (bits_f64(b) & ~mask));
}
""",
    "whole_f64": """\
/* the nearest whole number, for |x| < 2^51 */
static inline double whole_f64(double x) {
    return x + 0x1.8p52 - 0x1.8p52;
}
""",
    "is_odd_f64": """\
/* whether a whole number is odd, for |n| < 2^51 */
static inline int is_odd_f64(double n) {
    return whole_f64(0.5 * n) != 0.5 * n;
}
""",
    "mantissa_f64": """\
/* m of a positive normal x = 2^k m with least <= m < 2 least, where 1/2 < least <= 1 */
static inline double mantissa_f64(double x, double least, double *k) {
    const uint64_t bits = bits_f64(x) - bits_f64(least) + bits_f64(1.0);
    *k = of_bits_f64((bits >> 52) | bits_f64(0x1p52)) - (0x1p52 + 1023.0);
    return of_bits_f64((bits & 0xfffffffffffff) + bits_f64(least));
}
""",
    "power_of_2_f64": """\
/* 2^n of a whole number -1022 <= n <= 1023: its exponent is put together from n's last bits */
static inline double power_of_2_f64(double n) {
    return of_bits_f64((bits_f64(n + 0x1.8p52) << 52) + bits_f64(1.0));
}
""",
}


def either(head: str, fused: str, otherwise: str, *, single: bool) -> str:
    """A function with a body for processors with fused multiply-adds, of floats or of doubles, and
    one for others."""
    return (
        f"{head} {{\n#if {HAS_FMAF if single else HAS_FMA}\n{fused}#else\n{otherwise}#endif\n}}\n\n"
    )


def polynomial(coefficients: Sequence[str], of: str, name: str = "p") -> str:
    """Statements that declare ``name``: a polynomial by Horner's rule, constant term first."""
    *rest, last = coefficients
    lines = [f"    double {name} = {last};"]
    lines += [f"    {name} = fused_f64({name}, {of}, {k});" for k in reversed(rest)]
    return "\n".join(lines)
