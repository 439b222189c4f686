"""NumPy arrays on cache line boundaries."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

#: Any NumPy array: shapes and types are checked as values.
NumPyArray = np.ndarray[Any, np.dtype[Any]]
_ALIGNMENT = 64


def empty_at(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> tuple[NumPyArray, int]:
    """An uninitialised array of ``size`` bytes on a cache line boundary, and its address."""
    raw = np.empty(size + _ALIGNMENT, np.uint8)
    start = raw.ctypes.data
    skipped = -start % _ALIGNMENT
    return np.ndarray(shape, dtype, raw, skipped), start + skipped


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NumPyArray:
    """An uninitialised array on a cache line boundary."""
    return empty_at(shape, dtype, math.prod(shape) * dtype.itemsize)[0]


def aligned_copy(array: NumPyArray) -> NumPyArray:
    """A copy on a cache line boundary."""
    result = empty(array.shape, array.dtype)
    result[...] = array
    return result
