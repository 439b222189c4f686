"""NumPy arrays on cache line boundaries, in memory that is used again.

Memory that the system has just given costs a page fault every few KB, which can take longer than
the kernel that fills it: large arrays that are no longer used leave theirs to the next of their
size, within a limit for the process.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Any NumPy array: shapes and types are checked as values.
NumPyArray = np.ndarray[Any, np.dtype[Any]]
_ALIGNMENT = 64
#: bytes from which on memory is kept for the next: malloc keeps smaller pieces itself
LEAST_KEPT = 1 << 17
#: pieces that are kept at most
MOST_PIECES = 32


def _most_kept() -> int:
    """A sixteenth of the machine's memory; 64 MiB where that is unknown or less, 1 GiB at most."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        memory = 0
    return min(max(memory // 16, 1 << 26), 1 << 30)


#: bytes that are kept at most
MOST_KEPT = _most_kept()

#: memory that nobody uses, oldest first. No lock: what ends an array's life may run at any point,
#: also inside of these functions; each changes the list in one step.
_free: list[_Piece] = []


class _Piece:
    """Memory of some size, and where it starts; it is equal to itself only."""

    __slots__ = ("raw", "size", "start")

    def __init__(self, size: int) -> None:
        self.raw = np.empty(size + _ALIGNMENT, np.uint8)
        self.size = size
        start = self.raw.ctypes.data
        self.start = start + -start % _ALIGNMENT


class _Lease:
    """What an array holds on to while it lives: afterwards its memory goes back."""

    __slots__ = ("__array_interface__", "piece")

    def __init__(self, piece: _Piece, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.piece = piece
        self.__array_interface__ = {
            "data": (piece.start, False), "shape": shape, "typestr": dtype.str, "version": 3,
        }  # fmt: skip

    def __del__(self) -> None:
        give_back(self.piece)


def empty_at(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> tuple[NumPyArray, int]:
    """An uninitialised array of ``size`` bytes on a cache line boundary, and its address."""
    if size >= LEAST_KEPT:
        piece = _taken(size)
        return np.asarray(_Lease(piece, shape, dtype)), piece.start
    raw = np.empty(size + _ALIGNMENT, np.uint8)
    start = raw.ctypes.data
    skipped = -start % _ALIGNMENT
    return np.ndarray(shape, dtype, raw, skipped), start + skipped


def _taken(size: int) -> _Piece:
    """Memory of this size, used before if there is some."""
    for piece in list(_free):
        if piece.size == size:
            try:
                _free.remove(piece)
            except ValueError:  # somebody else was faster
                continue
            return piece
    return _Piece(size)


def give_back(piece: _Piece) -> None:
    """Keep memory for the next array of its size; the oldest goes where there is too much."""
    _free.append(piece)
    while len(_free) > MOST_PIECES or kept() > MOST_KEPT:
        try:
            _free.pop(0)
        except IndexError:
            return


def kept() -> int:
    """Bytes that are kept for arrays to come."""
    return sum(piece.size for piece in _free)


def empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NumPyArray:
    """An uninitialised array on a cache line boundary."""
    return empty_at(shape, dtype, math.prod(shape) * dtype.itemsize)[0]


def aligned_copy(array: NumPyArray) -> NumPyArray:
    """A copy on a cache line boundary."""
    result = empty(array.shape, array.dtype)
    result[...] = array
    return result


def as_result(arrays: Sequence[Any]) -> Any:  # noqa: ANN401 (arrays of NumPy or of others)
    """What a call gives back: its one result, or a tuple of all."""
    return arrays[0] if len(arrays) == 1 else tuple(arrays)
