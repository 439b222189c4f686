"""Operators that read at indices from other tensors, and that repeat what they read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.ir.graph import Value
from polyopt.graph.operators import (
    Result,
    broadcast,
    broadcast_index,
    need_rank,
    normal_axis,
    operator,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.frontend.stages import Term
    from polyopt.graph.operators import Maker, Tensor


def _expand_rule(x: Value, *, shape: Sequence[int]) -> Result:
    found = broadcast(x, Value("", tuple(shape), x.dtype))
    return Result(found, x.dtype)


@operator("expand", result=_expand_rule)
def expand(make: Maker, x: Tensor, *, shape: Sequence[int]) -> Tensor:
    """The operand broadcast with a shape, as by NumPy."""
    wide = broadcast(Value("", x.shape, x.dtype), Value("", tuple(shape), x.dtype))
    return make.stage(wide, lambda *i: x[broadcast_index(x, i)])


def _need_indices(x: Value, indices: Value, checked: int) -> None:
    """Raises ``GraphError`` for indices that are no integers, or of which nothing is known and
    that take what has no NaN."""
    if not indices.dtype.is_integer:
        raise GraphError(f"indices are integers, not {indices.dtype}")
    if not checked and not x.dtype.is_float:
        raise GraphError(
            f"elements of {x.dtype} are taken at constant indices alone: floats are NaN where an"
            " index is outside"
        )


def _found(size: int, given: Term, read: Callable[[Term], Term], checked: int) -> Term:
    """What ``read`` finds at an index that may count from the end; NaN where it is outside."""
    if checked:
        return read(po.clamp(given, 0, size - 1))
    place = po.select(given < 0, given + size, given)
    value = read(po.clamp(place, 0, size - 1))
    return po.select((place >= 0) & (place < size), value, float("nan"))


def _gather_rule(x: Value, indices: Value, *, axis: int = 0, checked: int = 0) -> Result:
    d = normal_axis(axis, len(x.shape))
    _need_indices(x, indices, checked)
    return Result((*x.shape[:d], *indices.shape, *x.shape[d + 1 :]), x.dtype)


@operator("gather", result=_gather_rule)
def gather(make: Maker, x: Tensor, indices: Tensor, *, axis: int = 0, checked: int = 0) -> Tensor:
    """Slices along an axis, at indices of data; negative ones count from the end.

    An element at an index outside is NaN. ``checked`` says that indices are known to be in ``0 ..
    size - 1``.
    """
    d, rank = normal_axis(axis, x.rank), indices.rank

    def element(*i: Term) -> Term:
        def read(place: Term) -> Term:
            return x[(*i[:d], place, *i[d + rank :])]

        return _found(x.shape[d], po.cast("i64", indices[i[d : d + rank]]), read, checked)

    return make.stage((*x.shape[:d], *indices.shape, *x.shape[d + 1 :]), element)


def _elements_rule(x: Value, indices: Value, *, axis: int = 0, checked: int = 0) -> Result:
    d = normal_axis(axis, len(x.shape))
    _need_indices(x, indices, checked)
    need_rank(indices, len(x.shape), len(x.shape))
    pairs = zip(indices.shape, x.shape, strict=True)
    if any(few > many for k, (few, many) in enumerate(pairs) if k != d):
        raise GraphError(f"indices {list(indices.shape)} do not fit {list(x.shape)}")
    return Result(indices.shape, x.dtype)


@operator("gather_elements", result=_elements_rule)
def gather_elements(
    make: Maker, x: Tensor, indices: Tensor, *, axis: int = 0, checked: int = 0
) -> Tensor:
    """The element along an axis that each index says; outside and ``checked`` as of ``gather``."""
    d = normal_axis(axis, x.rank)

    def element(*i: Term) -> Term:
        def read(place: Term) -> Term:
            return x[(*i[:d], place, *i[d + 1 :])]

        return _found(x.shape[d], po.cast("i64", indices[i]), read, checked)

    return make.stage(indices.shape, element)
