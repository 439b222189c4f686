"""Scalar types, and the two promotion rules: C's and NumPy's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from polyopt.errors import TypeMismatchError


@dataclass(frozen=True)
class ScalarType:
    """A machine scalar: ``kind`` is ``float``, ``int`` (signed), ``uint`` or ``bool``."""

    name: str
    kind: str
    bits: int

    def __str__(self) -> str:
        """The short name, such as ``u16``."""
        return self.name

    @property
    def bytes(self) -> int:
        """Size in memory, in bytes."""
        return max(1, self.bits // 8)

    @property
    def c_name(self) -> str:
        """The C type: ``uint16_t``, ``float``, ..."""
        if self.is_half:
            return f"{self.name}_bits"
        if self.kind == "float":
            return {32: "float", 64: "double"}[self.bits]
        if self.kind == "bool":
            return "_Bool"
        return f"{'u' if self.kind == 'uint' else ''}int{self.bits}_t"

    @property
    def numpy_name(self) -> str:
        """The NumPy dtype's name: ``uint16``, ``float32``, ..."""
        if self.kind == "bool":
            return "bool"
        return f"{'b' if self.name == 'bf16' else ''}{self.kind}{self.bits}"

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of arrays: ``uint16``, their bits, for ``bf16``, which NumPy has not."""
        return np.dtype("uint16" if self.name == "bf16" else self.numpy_name)

    @property
    def is_float(self) -> bool:
        """Whether this is a floating-point type."""
        return self.kind == "float"

    @property
    def is_half(self) -> bool:
        """Whether this is a floating-point type of 16 bits: for storage, computed with as f32."""
        return self.is_float and self.bits == F16.bits

    @property
    def computed(self) -> ScalarType:
        """The type in which values of this one are computed with: f32 for halves, else it."""
        return F32 if self.is_half else self

    @property
    def is_complex(self) -> bool:
        """Whether its numbers are pairs of ``part``: no type of programs, which hold the parts."""
        return self.kind == "complex"

    @property
    def part(self) -> ScalarType:
        """Of a complex type, that of the real and of the imaginary part; else the type."""
        return {C64: F32, C128: F64}.get(self, self)

    @property
    def is_integer(self) -> bool:
        """Whether this is an integer type (bool is not)."""
        return self.kind in {"int", "uint"}

    @property
    def range(self) -> tuple[int, int]:
        """Least and greatest value of an integer (or bool) type.

        Raises ``TypeMismatchError`` for a floating-point type.
        """
        if self.kind == "float":
            msg = f"{self.name} has no integer range"
            raise TypeMismatchError(msg)
        if self.kind == "int":
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, (1 << self.bits) - 1


BOOL = ScalarType("bool", "bool", 1)
I8, I16, I32, I64 = (ScalarType(f"i{b}", "int", b) for b in (8, 16, 32, 64))
U8, U16, U32, U64 = (ScalarType(f"u{b}", "uint", b) for b in (8, 16, 32, 64))
F32, F64 = (ScalarType(f"f{b}", "float", b) for b in (32, 64))
#: binary16 of IEEE 754, and bfloat16: the upper half of an f32
F16, BF16 = (ScalarType(name, "float", 16) for name in ("f16", "bf16"))

#: Types of pairs of f32 and f64, for frontends: programs hold the parts
C64, C128 = (ScalarType(f"c{b}", "complex", b) for b in (64, 128))

#: Types that are computed with, by their short names.
TYPES = {t.name: t for t in (BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64)}
#: Types of arrays' elements, by their short names.
ELEMENTS = {**TYPES, F16.name: F16, BF16.name: BF16}


def promote_c(one: ScalarType, other: ScalarType) -> ScalarType:
    """The usual arithmetic conversions of C (ISO C17, 6.3.1.8), with a 32-bit ``int``."""
    if one.is_float or other.is_float:
        return max((t for t in (one, other) if t.is_float), key=lambda t: t.bits)
    one, other = (_integer_promotion(t) for t in (one, other))
    if one.kind == other.kind:
        return one if one.bits >= other.bits else other
    unsigned, signed = (one, other) if one.kind == "uint" else (other, one)
    return signed if signed.bits > unsigned.bits else unsigned


def _integer_promotion(kind: ScalarType) -> ScalarType:
    return I32 if kind.bits < I32.bits else kind


def promote_numpy(one: ScalarType, other: ScalarType) -> ScalarType:
    """NumPy's ``result_type`` of two arrays' dtypes (NumPy reference, 'type promotion')."""
    if one == other:
        return one
    if one.kind == "bool" or other.kind == "bool":
        return other if one.kind == "bool" else one
    if one.is_float and other.is_float:
        if one.is_half and other.is_half:
            return F32
        return one if one.bits > other.bits else other
    if one.is_float or other.is_float:
        floating, whole = (one, other) if one.is_float else (other, one)
        if floating.is_half and whole.bits == I8.bits:
            return floating
        return F64 if floating.bits == F64.bits or whole.bits > U16.bits else F32
    if one.kind == other.kind:
        return one if one.bits > other.bits else other
    unsigned, signed = (one, other) if one.kind == "uint" else (other, one)
    if signed.bits > unsigned.bits:
        return signed
    return F64 if unsigned.bits == U64.bits else TYPES[f"i{unsigned.bits * 2}"]


def contains(wide: ScalarType, narrow: ScalarType) -> bool:
    """Whether every value of integer type ``narrow`` is a value of integer type ``wide``."""
    if wide.is_float or narrow.is_float:
        return False
    low, high = narrow.range
    return wide.range[0] <= low and high <= wide.range[1]
