"""Resizing by interpolation. Positions are fractions of integers, so that subscripts are affine."""

from __future__ import annotations

from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_float, operator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir import Value
    from polyopt.graph.operators import Maker, Tensor

    Mixed = Callable[..., Term]

MODES = ("nearest", "linear")
COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def _rule(
    x: Value,
    *,
    shape: Sequence[int],
    scales: Sequence[float],
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    rounding: str = "round_prefer_floor",
) -> Result:
    for given, known in ((mode, MODES), (coordinates, COORDINATES), (rounding, ROUNDINGS)):
        if given not in known:
            raise GraphError(f"resize does not know {given!r}; it knows: {', '.join(known)}")
    if len(shape) != len(x.shape) or len(scales) != len(x.shape):
        raise GraphError(f"a size and a scale for each of {len(x.shape)} axes are needed")
    if min(scales) <= 0:
        raise GraphError(f"scales are greater than 0, not {list(scales)}")
    if mode == "linear":
        need_float(x)
    return Result(tuple(shape), x.dtype)


@operator("resize", result=_rule)
def resize(
    make: Maker,
    x: Tensor,
    *,
    shape: Sequence[int],
    scales: Sequence[float],
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    rounding: str = "round_prefer_floor",
) -> Tensor:
    """ONNX's ``Resize``: ``nearest``, or ``linear`` along one axis after the other."""
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
        stage = make.stage(now, _mixing(source, d, lines[d], make), part=part)
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
        part = po.cast(make.dtype.name, (a * i[d] + b) % c) / float(c)
        one, two = (read[(*i[:d], low + k, *i[d + 1 :])] for k in (0, 1))
        return one * (1.0 - part) + two * part

    return mixed
