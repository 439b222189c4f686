"""Resizing by interpolation. Positions are fractions of integers, so that subscripts are affine."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, gcd
from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_float, operator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor

    Mixed = Callable[..., Term]

MODES = ("nearest", "linear", "cubic")
COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "align_corners",
)  # fmt: skip
#: terms of a sum that a statement writes out; more are a loop
_MOST_WRITTEN_OUT = 16
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def _rule(
    x: Value,
    *,
    shape: Sequence[int],
    scales: Sequence[float],
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    rounding: str = "round_prefer_floor",
    **_filter: float,
) -> Result:
    for given, known in ((mode, MODES), (coordinates, COORDINATES), (rounding, ROUNDINGS)):
        if given not in known:
            raise GraphError(f"resize does not know {given!r}; it knows: {', '.join(known)}")
    if len(shape) != len(x.shape) or len(scales) != len(x.shape):
        raise GraphError(f"a size and a scale for each of {len(x.shape)} axes are needed")
    if min(scales) <= 0:
        raise GraphError(f"scales are greater than 0, not {list(scales)}")
    if mode != "nearest":
        need_float(x)
    return Result(tuple(shape), x.dtype)


@operator("resize", result=_rule)
def resize(  # noqa: PLR0913  (an argument per attribute)
    make: Maker,
    x: Tensor,
    *,
    shape: Sequence[int],
    scales: Sequence[float],
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    rounding: str = "round_prefer_floor",
    cubic_coeff: float = -0.75,
    antialias: int = 0,
    exclude_outside: int = 0,
) -> Tensor:
    """ONNX's ``Resize``: ``nearest``, or ``linear`` or ``cubic`` along one axis after the other.

    ``antialias`` makes the filter as wide as the elements of a smaller result; with
    ``exclude_outside`` what lies outside has no weight, without it the border is repeated there.
    """
    axes = [d for d in range(x.rank) if (x.shape[d], 1.0) != (shape[d], scales[d])]
    lines = {d: _line(x.shape[d], shape[d], scales[d], coordinates) for d in axes}
    if mode == "nearest":
        read = po.clamped(x.grid)

        def nearest(*i: Term) -> Term:
            return read[tuple(
                _nearest(t, lines[d], rounding) if d in lines else t for d, t in enumerate(i)
            )]  # fmt: skip

        return make.stage(shape, nearest)
    now, source = list(x.shape), x
    stage: Tensor | None = None
    for d in axes[::-1]:  # columns first: rows are then joined where they lie side by side
        now[d] = shape[d]
        part = "" if d == axes[0] else f"axis{d}"
        if mode == "linear" and not antialias and not exclude_outside:
            mixed = _mixing(source, d, lines[d], make)
        else:
            scale = min(1.0, scales[d]) if antialias else 1.0
            shares = _Filter(mode, cubic_coeff, scale, bool(antialias), bool(exclude_outside))
            mixed = _filtering(source, d, lines[d], shares, now[d], make)
        stage = make.stage(now, mixed, part=part)
        source = stage
    return stage if stage is not None else make.stage(shape, lambda *i: x[i])


def _line(size: int, wanted: int, scale: float, coordinates: str) -> tuple[int, int, int]:
    """``(a, b, c)``: element ``i`` of the result lies at ``(a * i + b) / c`` of the operand."""
    exact = Fraction(wanted, size)
    ratio = exact if abs(float(exact) - scale) < 1e-6 else Fraction(scale).limit_denominator(4096)
    step, start = 1 / ratio, Fraction(0)
    if coordinates == "align_corners":
        last = ratio * size - 1  # not rounded: ONNX says so
        step = (size - 1) / last if last else Fraction(0)
    elif coordinates == "half_pixel_symmetric":  # half_pixel, but centre to centre
        start = step / 2 - Fraction(1, 2) + (size - wanted * step) / 2
    elif coordinates == "half_pixel" or (coordinates == "pytorch_half_pixel" and wanted > 1):
        start = step / 2 - Fraction(1, 2)
    elif coordinates == "pytorch_half_pixel":
        step = Fraction(0)
    below = step.denominator * start.denominator // gcd(step.denominator, start.denominator)
    return int(step * below), int(start * below), below


def _nearest(i: Term, line: tuple[int, int, int], rounding: str) -> Term:
    a, b, c = line
    match rounding:
        case "floor":
            return (a * i + b) // c
        case "ceil":
            return (a * i + b + c - 1) // c
        case "round_prefer_ceil":
            return (2 * (a * i + b) + c) // (2 * c)
        case _:  # the ceiling of position - 1/2
            return (2 * (a * i + b) + c - 1) // (2 * c)


def _mixing(x: Tensor, d: int, line: tuple[int, int, int], make: Maker) -> Mixed:
    """The element between two neighbours along one axis."""
    a, b, c = line
    read = po.clamped(x.grid)

    def mixed(*i: Term) -> Term:
        low = (a * i[d] + b) // c
        part = po.cast(make.dtype.computed.name, (a * i[d] + b) % c) / float(c)
        one, two = (read[(*i[:d], low + k, *i[d + 1 :])] for k in (0, 1))
        return one * (1.0 - part) + two * part

    return mixed


@dataclass(frozen=True)
class _Filter:
    """Weights of the elements around a position, by their distance from it."""

    mode: str
    cubic_coeff: float
    #: below 1, distances count for less and the filter is wider
    scale: float
    antialias: bool
    exclude_outside: bool

    @property
    def reach(self) -> tuple[int, int]:
        """First and last neighbour, counted from the element at or below the position."""
        wide = (1 if self.mode == "linear" else 2) / self.scale
        return floor(-wide) + 1, ceil(wide)

    def weight(self, distance: Term) -> Term:
        """R. G. Keys's cubic (1981), of two pieces, or a triangle."""
        t = po.max(distance, -distance) * self.scale
        if self.mode == "linear":
            return po.max(1.0 - t, 0.0)
        a = self.cubic_coeff
        near = ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0
        far = ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a
        return po.select(t <= 1.0, near, po.select(t < 2.0, far, 0.0))


def _filtering(
    x: Tensor, d: int, line: tuple[int, int, int], shares: _Filter, wanted: int, make: Maker
) -> Mixed:
    """The weighted sum of all neighbours along one axis; their weights are a table."""
    a, b, c = line
    first, last = shares.reach
    count = last - first + 1
    read = po.clamped(x.grid)

    def weight(i: Term, k: Term) -> Term:
        part = po.cast(make.dtype.computed.name, (a * i + b) % c) / float(c)
        found = shares.weight(po.cast(make.dtype.computed.name, k + first) - part)
        if not shares.exclude_outside:
            return found
        place = (a * i + b) // c + first + k
        return po.select((place >= 0) & (place < x.shape[d]), found, 0.0)

    def total(i: Term) -> Term:
        return po.sum(lambda k: raw[i, k], over={"k": count})  # type: ignore[misc]

    def share(i: Term, k: Term) -> Term:
        return raw[i, k] / totals[i]

    table = raw = make.stage((wanted, count), weight, part=f"weights{d}")
    if shares.antialias or shares.exclude_outside:  # else they sum up to 1
        totals = make.stage((wanted,), total, part=f"totals{d}")
        table = make.stage((wanted, count), share, part=f"shares{d}")

    def mixed(*i: Term) -> Term:
        low = (a * i[d] + b) // c + first

        def term(k: Term | int) -> Term:
            return read[(*i[:d], low + k, *i[d + 1 :])] * table[i[d], k]

        if count > _MOST_WRITTEN_OUT:
            return po.sum(term, over={"k": count})
        return sum(map(term, range(1, count)), term(0))

    return mixed
