"""Pages of mapped files: brought in before a box is computed, given back after it."""

from __future__ import annotations

import itertools
import math
import mmap
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polyopt.runtime.arrays import NumPyArray
    from polyopt.scale.cut import Place

#: Linux from 5.14 on maps a range at once; ``mmap`` has no names for it
_POPULATE_READ, _POPULATE_WRITE = 22, 23
#: a run of pages is brought in where it has no more bytes than so many times the slab in it
_DENSE = 1.25
#: with more runs of pages than this, those of a slab are not given back one by one
_MOST_RUNS = 256


def bring_in(array: NumPyArray, place: Place, *, write: bool) -> None:
    """Map a slab's pages of a file in few calls: else each costs a fault when it is touched."""
    mapped = _mapping(array)
    if mapped is None or sys.platform != "linux":
        return
    advice = _POPULATE_WRITE if write else _POPULATE_READ
    for low, high in _pages(mapped, dense_runs(array, place)):
        with suppress(OSError):  # an older system, or no room: touching them will tell
            mapped.madvise(advice, low, high - low)


def dense_runs(array: NumPyArray, place: Place) -> list[tuple[int, int]]:
    """A slab's runs of addresses; none where they hold much that is other boxes' business."""
    runs = list(_runs(array, place))
    whole = sum(stop - start for start, stop in runs)
    return runs if whole <= _DENSE * _bytes(array, place) else []


def release(arrays: Sequence[tuple[NumPyArray, Place]]) -> None:
    """Give back a slab's pages of mapped files: the system keeps them, this process does not."""
    for array, place in arrays:
        mapped = _mapping(array)
        if mapped is None or not hasattr(mmap, "MADV_DONTNEED"):
            continue
        for low, high in _pages(mapped, _runs(array, place)):
            mapped.madvise(mmap.MADV_DONTNEED, low, high - low)


def _mapping(array: NumPyArray) -> Any:  # noqa: ANN401
    """The mapping behind an array, where the file itself is mapped."""
    return getattr(array, "_mmap", None) if _is_shared(array) else None


def _pages(mapped: Any, runs: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:  # noqa: ANN401
    """Runs of addresses as whole pages, counted from where the mapping starts."""
    base = np.frombuffer(mapped, np.uint8).ctypes.data
    for start, stop in runs:
        low = (start - base) // mmap.PAGESIZE * mmap.PAGESIZE
        high = min(stop - base, len(mapped))
        if 0 <= low < high:
            yield low, high


def _bytes(array: NumPyArray, place: Place) -> int:
    """What of a slab exists, in bytes."""
    outer, _ = place.clipped(array.shape)
    return math.prod(max(0, s.stop - s.start) for s in outer) * array.itemsize


def _runs(array: NumPyArray, place: Place) -> Iterator[tuple[int, int]]:
    """Addresses from the first to the last element of a slab, one run per outer index."""
    outer, _ = place.clipped(array.shape)
    cut = [k for k, s in enumerate(outer) if (s.start, s.stop) != (0, array.shape[k])]
    depth = cut[0] if cut else 0
    ranges = [range(s.start, s.stop) for s in outer[:depth]]
    if any(s.start >= s.stop for s in outer) or math.prod(map(len, ranges)) > _MOST_RUNS:
        return
    steps = array.strides
    first = sum(s.start * step for s, step in zip(outer[depth:], steps[depth:], strict=True))
    last = sum((s.stop - 1) * step for s, step in zip(outer[depth:], steps[depth:], strict=True))
    for index in itertools.product(*ranges):
        start = array.ctypes.data + sum(i * step for i, step in zip(index, steps, strict=False))
        yield start + first, start + last + array.itemsize


def _is_shared(array: NumPyArray) -> bool:
    """Whether the mapping writes to the file; changes of a private one would be lost."""
    return getattr(array, "mode", "") in {"r", "r+", "w+"}
