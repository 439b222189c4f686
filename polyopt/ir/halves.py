"""Conversion of f32 to floating-point types of 16 bits and back: to nearest, ties to even.

``bf16`` is the upper half of an f32. NumPy has no such type: its arrays are ``uint16`` here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.ir.types import BF16, ScalarType

if TYPE_CHECKING:
    Floats = np.ndarray[Any, np.dtype[np.float32]]
    Halves = np.ndarray[Any, np.dtype[Any]]

#: bits of an f32 that bfloat16 has not, and one of its NaNs
_CUT, _NAN = 16, 0x7FC0


def narrowed(type_: ScalarType, values: Floats) -> Halves:
    """Numbers of f32 as elements of arrays of halves; a NaN stays one."""
    with np.errstate(over="ignore", invalid="ignore"):
        if type_ != BF16:
            return values.astype(np.float16)
        bits = values.view(np.uint32).astype(np.uint64)
        cut = (bits + 0x7FFF + (bits >> _CUT & 1)) >> _CUT
        return np.where(np.isnan(values), _NAN, cut).astype(np.uint16)


def widened(type_: ScalarType, elements: Halves) -> Floats:
    """Elements of arrays of halves as numbers of f32."""
    if type_ != BF16:
        return elements.astype(np.float32)
    return (elements.astype(np.uint32) << _CUT).view(np.float32)


def rounded(type_: ScalarType, value: float) -> float:
    """The half that is nearest to a number of f32."""
    return float(widened(type_, narrowed(type_, np.array([value], np.float32)))[0])


def to_half(type_: ScalarType, value: float) -> np.float16 | int:
    """A number of f32 as a half: NumPy's, or the bits of a bfloat16."""
    found = narrowed(type_, np.array([value], np.float32))[0]
    return int(found) if type_ == BF16 else found


def from_half(type_: ScalarType, value: np.float16 | int) -> np.float32:
    """The number of f32 that a half is."""
    return widened(type_, np.array([value], type_.dtype))[0]
