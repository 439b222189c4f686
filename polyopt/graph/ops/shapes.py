"""Operators that move elements without computing: reshape, transpose, concatenate, pad, slice."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, need_rank, normal_axis, operator

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.frontend.stages import Border, Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor


def _reshape_rule(x: Value, *, shape: Sequence[int]) -> Result:
    if prod(shape) != x.size or min(shape, default=1) < 1:
        raise GraphError(f"{x.size} elements do not fill the shape {list(shape)}")
    return Result(tuple(shape), x.dtype)


@operator("reshape", result=_reshape_rule, is_view=True)
def reshape(make: Maker, x: Tensor, *, shape: Sequence[int]) -> Tensor:
    """The same elements in the same order."""

    def element(*i: Term) -> Term:
        place: Term | int = 0
        for index, extent in zip(i, shape, strict=True):
            place = place * extent + index
        strides = [prod(x.shape[d + 1 :]) for d in range(x.rank)]
        return x[tuple((place // s) % e for s, e in zip(strides, x.shape, strict=True))]

    return make.stage(shape, element)


def _transpose_rule(x: Value, *, perm: Sequence[int]) -> Result:
    if sorted(perm) != list(range(len(x.shape))):
        raise GraphError(f"{list(perm)} is no order of {len(x.shape)} axes")
    return Result(tuple(x.shape[p] for p in perm), x.dtype)


@operator("transpose", result=_transpose_rule)
def transpose(make: Maker, x: Tensor, *, perm: Sequence[int]) -> Tensor:
    """Axis ``d`` of the result is axis ``perm[d]`` of the operand."""
    source = [list(perm).index(d) for d in range(x.rank)]
    shape = [x.shape[p] for p in perm]
    return make.stage(shape, lambda *i: x[tuple(i[s] for s in source)])


def _concat_rule(*parts: Value, axis: int) -> Result:
    first = parts[0]
    d = normal_axis(axis, len(first.shape))
    for part in parts[1:]:
        beside = [(*p.shape[:d], *p.shape[d + 1 :]) for p in (first, part)]
        if len(part.shape) != len(first.shape) or beside[0] != beside[1]:
            raise GraphError(
                f"{list(first.shape)} and {list(part.shape)} do not join along axis {axis}"
            )
        if part.dtype != first.dtype:
            raise GraphError(f"operands of one type are needed, not {first.dtype} and {part.dtype}")
    total = sum(p.shape[d] for p in parts)
    return Result((*first.shape[:d], total, *first.shape[d + 1 :]), first.dtype)


@operator("concat", result=_concat_rule)
def concat(make: Maker, *parts: Tensor, axis: int) -> Tensor:
    """The operands one after the other along an axis."""
    d = normal_axis(axis, parts[0].rank)
    shape = [*parts[0].shape]
    shape[d] = sum(p.shape[d] for p in parts)

    def element(*i: Term) -> Term:
        start = shape[d] - parts[-1].shape[d]
        result = parts[-1][(*i[:d], i[d] - start, *i[d + 1 :])]
        for part in reversed(parts[:-1]):
            stop, start = start, start - part.shape[d]
            result = po.select(i[d] < stop, part[(*i[:d], i[d] - start, *i[d + 1 :])], result)
        return result

    return make.stage(shape, element)


_MODES = ("constant", "edge", "reflect", "wrap")


def _pad_rule(
    x: Value, *, pads: Sequence[int], mode: str = "constant", value: float = 0.0
) -> Result:
    _ = value
    rank = len(x.shape)
    if len(pads) != 2 * rank:
        raise GraphError(f"pads are {2 * rank} numbers, not {len(pads)}")
    if mode not in _MODES:
        raise GraphError(f"there is no mode {mode!r}; there are: {', '.join(_MODES)}")
    return Result(tuple(x.shape[d] + pads[d] + pads[rank + d] for d in range(rank)), x.dtype)


@operator("pad", result=_pad_rule)
def pad(
    make: Maker, x: Tensor, *, pads: Sequence[int], mode: str = "constant", value: float = 0.0
) -> Tensor:
    """A frame of so many elements before and after each axis; fewer than none cuts off."""
    shape = [x.shape[d] + pads[d] + pads[x.rank + d] for d in range(x.rank)]
    source = _bordered(x, mode, value)
    return make.stage(shape, lambda *i: source[tuple(i[d] - pads[d] for d in range(x.rank))])


def _bordered(x: Tensor, mode: str, value: float) -> Border:
    match mode:
        case "edge":
            return po.clamped(x.grid)
        case "reflect":
            return po.mirrored(x.grid, edge=False)
        case "wrap":
            return po.wrapped(x.grid)
        case _:
            return x.padded(value if x.dtype.is_float else int(value))


def _slice_rule(
    x: Value, *, starts: Sequence[int], steps: Sequence[int], shape: Sequence[int]
) -> Result:
    rank = len(x.shape)
    need_rank(x, len(shape), len(shape))
    for d in range(rank):
        ends = starts[d], starts[d] + steps[d] * (shape[d] - 1)
        if not (min(ends) >= 0 and max(ends) < x.shape[d]):
            raise GraphError(f"elements {ends[0]} to {ends[1]} of axis {d} are not all there")
    return Result(tuple(shape), x.dtype)


@operator("slice", result=_slice_rule)
def take(
    make: Maker, x: Tensor, *, starts: Sequence[int], steps: Sequence[int], shape: Sequence[int]
) -> Tensor:
    """``shape[d]`` elements of each axis from ``starts[d]`` on, every ``steps[d]``-th."""
    return make.stage(
        shape, lambda *i: x[tuple(starts[d] + steps[d] * i[d] for d in range(x.rank))]
    )
