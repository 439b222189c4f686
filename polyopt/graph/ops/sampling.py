"""Sampling where data says: images read at given places, and regions of them."""

from __future__ import annotations

from itertools import product as combinations
from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_float, need_rank, operator
from polyopt.ir.types import I32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor

#: mode -> elements that it reads along an axis, from the one at or below the place
TAPS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}
PADDINGS = ("zeros", "border", "reflection")
#: the parameter of R. G. Keys's cubic (1981) that frameworks take
_CUBIC = -0.75
#: places beyond it are cut: they would be no integers of 32 bits
_FAR = 1.0e9


def _sample_rule(
    x: Value,
    grid: Value,
    *,
    mode: str = "linear",
    padding: str = "zeros",
    align_corners: int = 0,
    by_element: int = 0,
) -> Result:
    _ = align_corners, by_element
    need_float(x, grid)
    need_rank(x, 3, 5 if mode != "cubic" else 4)
    need_rank(grid, len(x.shape), len(x.shape))
    for given, known in ((mode, tuple(TAPS)), (padding, PADDINGS)):
        if given not in known:
            raise GraphError(f"sampling does not know {given!r}; it knows: {', '.join(known)}")
    if grid.shape[0] != x.shape[0] or grid.shape[-1] != len(x.shape) - 2:
        raise GraphError(f"places {list(grid.shape)} do not fit an input {list(x.shape)}")
    return Result((*x.shape[:2], *grid.shape[1:-1]), x.dtype)


@operator("grid_sample", result=_sample_rule)
def grid_sample(
    make: Maker,
    x: Tensor,
    grid: Tensor,
    *,
    mode: str = "linear",
    padding: str = "zeros",
    align_corners: int = 0,
    by_element: int = 0,
) -> Tensor:
    """M. Jaderberg et al., 2015: ``x [n][c]...`` at the places ``grid [n]...[axis]``, last axis
    first; -1 and 1 are its ends, at the centres of the outermost elements or at their edges.

    Outside places are brought inside as ``padding`` says, and then the elements around them; with
    ``by_element`` elements alone.
    """
    rank = x.rank - 2
    aligned = bool(align_corners)
    moved = "zeros" if by_element else padding
    places = [_places(make, x, grid, d, mode, moved, aligned=aligned) for d in range(rank)]

    def element(n: Term, c: Term, *at: Term) -> Term:
        found = [place[(n, *at)] for place in places]
        lows = [po.min(po.max(po.floor(f), -_FAR), _FAR) for f in found]
        shares = [_shares(f - low, mode) for f, low in zip(found, lows, strict=True)]
        firsts = [po.cast("i32", low) for low in lows]
        parts: list[Term] = []
        for chosen in combinations(range(len(TAPS[mode])), repeat=rank):
            index = [firsts[d] + TAPS[mode][k] for d, k in enumerate(chosen)]
            part = _read(x, (n, c), index, padding, aligned=aligned)
            for d, k in enumerate(chosen):
                part = part * shares[d][k] if mode != "nearest" else part
            parts.append(part)
        return sum(parts[1:], parts[0])

    return make.stage((*x.shape[:2], *grid.shape[1:-1]), element)


def _places(
    make: Maker, x: Tensor, grid: Tensor, d: int, mode: str, padding: str, *, aligned: bool
) -> Tensor:
    """Where on one axis each element of the result lies, in elements of the operand."""
    size, last = x.shape[2 + d], grid.shape[-1] - 1
    low, high = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)

    def place(n: Term, *at: Term) -> Term:
        given = grid[(n, *at, last - d)]
        found = (given + 1.0) / 2.0 * (size - 1.0)
        if not aligned:
            found = ((given + 1.0) * float(size) - 1.0) / 2.0
        found = po.rint(found) if mode == "nearest" else found
        if padding == "border":
            cut = po.min(po.max(found, 0.0), size - 1.0)
            return po.select((found < low) | (found > high), cut, found)
        return _reflected(found, low, high) if padding == "reflection" else found

    return make.stage((x.shape[0], *grid.shape[1:-1]), place, part=f"place{d}")


def _reflected(place: Term, low: float, high: float) -> Term:
    """A place mirrored at both ends until it is between them."""
    width = high - low
    if width == 0:
        return place * 0.0
    period = po.fmod(abs(place - low), 2.0 * width)
    inside = low + po.select(period > width, 2.0 * width - period, period)
    return po.select((place < low) | (place > high), inside, place)


def _read(
    x: Tensor, beside: tuple[Term, Term], index: Sequence[Term], padding: str, *, aligned: bool
) -> Term:
    """The element at a place, or what padding says is there."""
    sizes = x.shape[2:]
    if padding == "reflection":
        index = [_mirrored(i, size, aligned=aligned) for i, size in zip(index, sizes, strict=True)]
    cut = [po.clamp(i, 0, size - 1) for i, size in zip(index, sizes, strict=True)]
    value = x[(*beside, *cut)]
    if padding != "zeros":
        return value
    for i, size in zip(index, sizes, strict=True):
        value = po.select((i >= 0) & (i < size), value, 0.0)
    return value


def _mirrored(i: Term, size: int, *, aligned: bool) -> Term:
    """An index mirrored at the outermost elements' centres, or at their edges."""
    if size == 1:
        return i * 0
    period = 2 * size - 2 if aligned else 2 * size
    inside = i % period
    return po.select(inside < size, inside, period - (0 if aligned else 1) - inside)


def _shares(t: Term, mode: str) -> list[Term]:
    """Weights of the elements around a place, ``t`` after the one at or below it."""
    if mode == "linear":
        return [1.0 - t, t]
    a = _CUBIC

    def near(s: Term) -> Term:
        return ((a + 2.0) * s - (a + 3.0)) * s * s + 1.0

    def far(s: Term) -> Term:
        return ((a * s - 5.0 * a) * s + 8.0 * a) * s - 4.0 * a

    return [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]


# -- regions ------------------------------------------------------------------------------------


def _roi_rule(
    x: Value,
    rois: Value,
    batch: Value,
    *,
    extents: Sequence[int],
    samples: int,
    scale: float = 1.0,
    half_pixel: int = 1,
    mode: str = "avg",
) -> Result:
    _ = scale, half_pixel
    need_float(x, rois)
    need_rank(x, 4, 4)
    count = rois.shape[0]
    if rois.shape != (count, 4) or batch.shape != (count,) or not batch.dtype.is_integer:
        raise GraphError(f"regions are [n, 4], of one image each, not {rois} and {batch}")
    if len(extents) != 2 or min(extents) < 1 or samples < 1 or mode not in {"avg", "max"}:
        raise GraphError(f"regions of {list(extents)} bins, {samples} samples and {mode!r}")
    return Result((count, x.shape[1], *extents), x.dtype)


@operator("roi_align", result=_roi_rule)
def roi_align(  # noqa: PLR0913  (an argument per attribute)
    make: Maker,
    x: Tensor,
    rois: Tensor,
    batch: Tensor,
    *,
    extents: Sequence[int],
    samples: int,
    scale: float = 1.0,
    half_pixel: int = 1,
    mode: str = "avg",
) -> Tensor:
    """K. He et al., 2017: the mean or greatest of ``samples`` x ``samples`` places of each bin.

    ``rois [n][x1, y1, x2, y2]`` are of the images ``batch [n]``; an image that is not there is
    NaN. As ONNX has it, ``max`` is over the weighted elements around a place.
    """
    images, _, *sizes = x.shape
    (rows, below), (columns, right) = (
        _samples(make, rois, d, sizes[d], extents[d], samples, scale, half_pixel) for d in range(2)
    )

    def element(r: Term, c: Term, y: Term, x_: Term) -> Term:
        image = po.clamp(po.cast("i32", batch[r]), 0, images - 1)

        def sample(ky: Term, kx: Term) -> Term:
            row, column = rows[r, y, ky], columns[r, x_, kx]
            v, u = below[r, y, ky], right[r, x_, kx]
            parts: list[Term] = []
            for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
                share = (v if i else 1.0 - v) * (u if j else 1.0 - u)
                place = po.clamp(row + i, 0, sizes[0] - 1), po.clamp(column + j, 0, sizes[1] - 1)
                parts.append(x[(image, c, *place)] * share)
            found = sum(parts[1:], parts[0]) if mode == "avg" else po.max(*parts)
            return po.select((row >= 0) & (column >= 0), found, 0.0)

        reduce = po.sum if mode == "avg" else po.max
        return reduce(sample, over={"ky": samples, "kx": samples})

    shape = (rois.shape[0], x.shape[1], *extents)
    whole = make.stage(shape, element, part="samples")
    count = float(samples * samples) if mode == "avg" else 1.0

    def result(r: Term, *rest: Term) -> Term:
        is_there = (batch[r] >= 0) & (batch[r] < images)
        return po.select(is_there, whole[(r, *rest)] / count, float("nan"))

    return make.stage(shape, result)


def _samples(
    make: Maker,
    rois: Tensor,
    d: int,
    size: int,
    bins: int,
    samples: int,
    scale: float,
    half_pixel: int,
) -> tuple[Tensor, Tensor]:
    """Of each sample on an axis, the element at or below it, -1 outside, and the next one's share:
    ``[region][bin][sample]``."""
    offset, shape = 0.5 if half_pixel else 0.0, (rois.shape[0], bins, samples)

    def place(r: Term, i: Term, k: Term) -> Term:
        start = rois[r, 1 - d] * scale - offset
        whole = rois[r, 3 - d] * scale - offset - start
        width = (whole if half_pixel else po.max(whole, 1.0)) / float(bins)
        kind = make.dtype.computed.name
        return start + (po.cast(kind, i) + (po.cast(kind, k) + 0.5) / float(samples)) * width

    places = make.stage(shape, place, part=f"place{d}")

    def low(*i: Term) -> Term:
        cut = po.min(po.max(places[i], 0.0), size - 1.0)
        is_inside = (places[i] >= -1.0) & (places[i] <= float(size))
        return po.select(is_inside, po.cast("i32", po.floor(cut)), -1)

    def share(*i: Term) -> Term:
        cut = po.min(po.max(places[i], 0.0), size - 1.0)
        return cut - po.floor(cut)

    lows = make.stage(shape, low, part=f"low{d}", dtype=I32)
    return lows, make.stage(shape, share, part=f"share{d}")
