"""Reductions along axes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, normal_axis, operator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor


def _reduced(shape: Sequence[int], axes: Sequence[int], keepdims: int) -> tuple[int, ...]:
    along = {normal_axis(axis, len(shape)) for axis in axes}
    kept = [1 if d in along else extent for d, extent in enumerate(shape)]
    return tuple(e for d, e in enumerate(kept) if keepdims or d not in along)


def _rule(x: Value, *, axes: Sequence[int], keepdims: int = 1) -> Result:
    return Result(_reduced(x.shape, axes, keepdims), x.dtype)


def _mean_rule(x: Value, *, axes: Sequence[int], keepdims: int = 1) -> Result:
    if not x.dtype.is_float:
        raise GraphError(f"a floating-point operand is needed, not {x.dtype}")
    return _rule(x, axes=axes, keepdims=keepdims)


def _reduction(
    make: Maker,
    x: Tensor,
    axes: Sequence[int],
    keepdims: int,
    reduce: Callable[..., Term],
    part: str = "",
) -> Tensor:
    along = sorted({normal_axis(axis, x.rank) for axis in axes})
    shape = _reduced(x.shape, axes, keepdims)
    over = {f"k{d}": x.shape[d] for d in along}

    def value(*i: Term) -> Term:
        beside = [t for d, t in enumerate(i) if d not in along] if keepdims else list(i)
        if not along:
            return x[tuple(beside)]

        def element(*k: Term) -> Term:
            rest, inside = iter(beside), iter(k)
            return x[tuple(next(inside) if d in along else next(rest) for d in range(x.rank))]

        return reduce(element, over=over)

    return make.stage(shape, value, part=part)


def _register(name: str, reduce: Callable[..., Term]) -> None:
    def build(make: Maker, x: Tensor, *, axes: Sequence[int], keepdims: int = 1) -> Tensor:
        return _reduction(make, x, axes, keepdims, reduce)

    operator(name, result=_rule)(build)


_register("reduce_sum", po.sum)
_register("reduce_prod", po.product)
_register("reduce_max", po.max)
_register("reduce_min", po.min)


@operator("reduce_mean", result=_mean_rule)
def reduce_mean(make: Maker, x: Tensor, *, axes: Sequence[int], keepdims: int = 1) -> Tensor:
    """The mean along axes; over rows and columns, global average pooling."""
    sums = _reduction(make, x, axes, keepdims, po.sum, part="sums")
    count = float(prod(x.shape[normal_axis(axis, x.rank)] for axis in axes))
    return make.stage(sums.shape, lambda *i: sums[i] / count)
