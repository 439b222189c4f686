"""Conversion of f32 to floating-point types of 16 bits and back as C, to nearest, ties to even.

Halves are their bits in C: compilers differ in which types of 16 bits they have, and in what these
compute with. All of it is selects of integers, which vectorise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.ir.types import BF16, F16, F32

if TYPE_CHECKING:
    from collections.abc import Container

    from polyopt.ir.types import ScalarType


def conversion(to: ScalarType, origin: ScalarType) -> str:
    """The function's name: ``f32_of_f16``."""
    return f"{to}_of_{origin}"


#: functions by name, each after those that it calls
INNER = {
    "bits_f32": """\
static inline uint32_t bits_f32(float x) {
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}
""",
    "of_bits_f32": """\
static inline float of_bits_f32(uint32_t bits) {
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}
""",
}
CONVERSIONS = {
    conversion(F32, F16): """\
/* 2^112 takes an exponent from one bias to the other, and what is below normal halves to normal
   floats; infinities and NaN keep the largest exponent */
static inline float f32_of_f16(f16_bits half) {
    const uint32_t magnitude = (uint32_t)(half & 0x7fff) << 13;
    const uint32_t finite = bits_f32(of_bits_f32(magnitude) * 0x1p112f);
    const uint32_t bits = magnitude < 0x0f800000 ? finite : magnitude | 0x7f800000;
    return of_bits_f32(bits | (uint32_t)(half & 0x8000) << 16);
}
""",
    conversion(F16, F32): """\
/* below 2^-14 halves are 2^-24 apart, as floats are from 1/2 to 1: there an addition rounds */
static inline f16_bits f16_of_f32(float x) {
    const uint32_t bits = bits_f32(x);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t small = bits_f32(of_bits_f32(magnitude) + 0.5f) - 0x3f000000;
    const uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13;
    const uint32_t finite = magnitude < 0x38800000 ? small : normal;
    const uint32_t large = magnitude > 0x7f800000 ? 0x7e00 : 0x7c00;
    return (f16_bits)((magnitude < 0x47800000 ? finite : large) | (bits >> 16 & 0x8000));
}
""",
    conversion(F32, BF16): """\
static inline float f32_of_bf16(bf16_bits half) {
    return of_bits_f32((uint32_t)half << 16);
}
""",
    conversion(BF16, F32): """\
static inline bf16_bits bf16_of_f32(float x) {
    const uint32_t bits = bits_f32(x);
    const uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (bf16_bits)((bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : nearest);
}
""",
}


def half_types(names: Container[str]) -> list[str]:
    """Definitions of the types of halves that are named, or made by conversions that are."""
    return [
        f"typedef uint16_t {half.c_name};"
        for half in (F16, BF16)
        if any(n in names for n in (half.c_name, conversion(F32, half), conversion(half, F32)))
    ]
