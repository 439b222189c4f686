"""How large boxes are: as large as the memory allows, cut where that repeats least."""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError, MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.scale.cut import Cut

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
#: rows are dealt out in multiples of this many: plans take some at a time
_ROWS = 8
#: jobs per worker, so that none waits long for the last one
_JOBS = 4
#: a box is not made smaller than this many elements only to have more jobs
_SMALLEST = 1 << 18


def parse_bytes(text: str | int) -> int:
    """``"1GiB"``, ``"512 MB"``, ``"2g"`` or a number of bytes. Raises ``InvalidOptionError``."""
    if isinstance(text, int) and not isinstance(text, bool) and text > 0:
        return text
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?\s*", str(text).lower())
    if not found or float(found[1]) <= 0:
        raise InvalidOptionError(f"{text!r} is no amount of memory", hint='such as "1GiB"')
    return int(float(found[1]) * _UNITS[found[2]])


def bytes_text(count: int) -> str:
    """A number of bytes as people read it."""
    value = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.3g} {unit}"
        value /= 1024
    return f"{value:.3g} TiB"


def box_bytes(cut: Cut, whole: Mapping[str, int], count: Sequence[int], threads: int = 1) -> int:
    """Bytes that one box takes while it is computed, slabs included; in the middle of the array."""
    sizes = _sizes(cut, whole, count)
    return sum(cut.slab_bytes(sizes).values()) + threads * cut.workspace_bytes(sizes)


def _sizes(cut: Cut, whole: Mapping[str, int], count: Sequence[int]) -> dict[str, int]:
    extent = output_shape(cut, whole)
    unit = cut.unit
    first = [(n - c) // 2 // unit * unit for n, c in zip(extent, count, strict=True)]
    return cut.sizes(whole, first, count)


def output_shape(cut: Cut, whole: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of the results."""
    return cut.extent(whole)


def box_shape(
    cut: Cut,
    whole: Mapping[str, int],
    *,
    limit: int,
    workers: int,
    chunks: Sequence[int] | None = None,
    threads: int = 1,
) -> tuple[int, ...]:
    """The shape of boxes: ``workers`` of them, of so many ``threads``, fit into ``limit`` bytes.

    Halves the dimension whose halving adds least to what is read, the outer one among equals.
    ``chunks`` is the shape of the pieces that results are stored in: no two boxes share one.
    Raises ``MemoryLimitError`` where no box is small enough.
    """
    extent = output_shape(cut, whole)
    dims = [axis.dim for axis in cut.subdomain.axes]
    count = list(extent)
    each = limit // workers
    while box_bytes(cut, whole, count, threads) > each:
        choices = [k for k in dims if count[k] > 1]
        if not choices:
            raise _too_large(cut, whole, count, limit, workers)
        best = min(choices, key=lambda k: (_read(cut, whole, _halved(count, k)), k))
        count = _halved(count, best)
    count = _more_jobs(count, extent, dims, workers * _JOBS if workers > 1 else 1)
    if dims:
        count[dims[0]] = _alike(count[dims[0]], extent[dims[0]], workers)
    count = _in_units(cut, count, extent)
    if chunks is not None:
        count = [_aligned(c, k, n) for c, k, n in zip(count, chunks, extent, strict=True)]
    if box_bytes(cut, whole, count, threads) > each:
        raise _too_large(cut, whole, count, limit, workers, chunks)
    return tuple(count)


def _alike(count: int, extent: int, workers: int) -> int:
    """At most ``count`` rows, so that boxes are alike and workers get as many."""
    if count >= extent:
        return count
    pieces = -(-extent // count)
    alike = -(-extent // (-(-pieces // workers) * workers))
    return min(count, -(-alike // _ROWS) * _ROWS)


def _in_units(cut: Cut, count: Sequence[int], extent: Sequence[int]) -> list[int]:
    """Counts rounded up to what corners are multiples of."""
    units = {axis.dim: axis.unit for axis in cut.subdomain.axes}
    return [
        min(n, -(-c // units.get(k, 1)) * units.get(k, 1))
        for k, (c, n) in enumerate(zip(count, extent, strict=True))
    ]


def _halved(count: Sequence[int], dim: int) -> list[int]:
    result = list(count)
    result[dim] = (result[dim] + 1) // 2
    return result


def _read(cut: Cut, whole: Mapping[str, int], count: Sequence[int]) -> float:
    """Bytes of slabs per element of the box; rows that are cut count a little more."""
    total = sum(cut.slab_bytes(_sizes(cut, whole, count)).values()) / math.prod(count)
    cut_rows = count[-1] < output_shape(cut, whole)[-1]
    return total * (1.05 if cut_rows else 1.0)


def _more_jobs(
    count: list[int], extent: Sequence[int], dims: Sequence[int], jobs: int
) -> list[int]:
    """Boxes cut along the first dimension until there are so many, or they are small."""
    while dims and math.prod(count) > 2 * _SMALLEST:
        if math.prod(-(-n // c) for n, c in zip(extent, count, strict=True)) >= jobs:
            break
        first = next((k for k in dims if count[k] > 1), None)
        if first is None:
            break
        count = _halved(count, first)
    return count


def _aligned(count: int, chunk: int, extent: int) -> int:
    return min(extent, max(chunk, count // chunk * chunk))


def _too_large(
    cut: Cut,
    whole: Mapping[str, int],
    count: Sequence[int],
    limit: int,
    workers: int,
    chunks: Sequence[int] | None = None,
) -> MemoryLimitError:
    sizes = _sizes(cut, whole, count)
    slabs = cut.slab_bytes(sizes)
    shape = " x ".join(map(str, count))
    what = "a chunk of the results" if chunks is not None else "the smallest box"
    arrays, buffers = map(bytes_text, (sum(slabs.values()), cut.workspace_bytes(sizes)))
    notes = [
        f"{what}, {shape} of {cut.outputs[0]}, needs {arrays} of arrays and {buffers} of buffers",
        *(
            f"{name}: {bytes_text(size)}{_all_of(cut, name)}"
            for name, size in sorted(slabs.items(), key=lambda item: -item[1])
            if size > limit // 16
        ),
    ]
    return MemoryLimitError(
        f"{cut.subdomain.whole.name} needs more than {bytes_text(limit)} for {workers} at once",
        notes=notes,
        hint="allow more memory, or fewer workers",
    )


def _all_of(cut: Cut, name: str) -> str:
    slab = cut.subdomain.slabs[name]
    return ", all of it: every result reads it" if all(slab.whole) and slab.whole else ""


def boxes(extent: Sequence[int], count: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """All boxes of a grid, in the order of memory."""
    ranges = [range(0, n, c) for n, c in zip(extent, count, strict=True)]
    for corner in itertools.product(*ranges):
        yield tuple(slice(f, min(f + c, n)) for f, c, n in zip(corner, count, extent, strict=True))
