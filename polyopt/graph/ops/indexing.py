"""Operators that read at indices from other tensors, and that repeat what they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from polyopt.ir.types import I32, I64

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


def _need_indices(indices: Value) -> None:
    """Raises ``GraphError`` for indices that are no integers."""
    if not indices.dtype.is_integer:
        raise GraphError(f"indices are integers, not {indices.dtype}")


def _need_lines(x: Value, indices: Value, axis: int) -> None:
    """Raises ``GraphError`` unless each line of indices is of a line along an axis."""
    need_rank(indices, len(x.shape), len(x.shape))
    pairs = zip(indices.shape, x.shape, strict=True)
    if any(few > many for d, (few, many) in enumerate(pairs) if d != axis):
        raise GraphError(f"indices {list(indices.shape)} do not fit {list(x.shape)}")


def _found(
    size: int, given: Term, read: Callable[[Term], Term], checked: int, *, is_float: bool
) -> Term:
    """What ``read`` finds at an index that may count from the end; of floats, NaN where it is
    outside."""
    if checked:
        return read(po.clamp(given, 0, size - 1))
    place = po.select(given < 0, given + size, given)
    value = read(po.clamp(place, 0, size - 1))
    if not is_float:
        return value
    return po.select((place >= 0) & (place < size), value, float("nan"))


def _gather_rule(x: Value, indices: Value, *, axis: int = 0, checked: int = 0) -> Result:
    d = normal_axis(axis, len(x.shape))
    _ = checked
    _need_indices(indices)
    return Result((*x.shape[:d], *indices.shape, *x.shape[d + 1 :]), x.dtype)


@operator("gather", result=_gather_rule)
def gather(make: Maker, x: Tensor, indices: Tensor, *, axis: int = 0, checked: int = 0) -> Tensor:
    """Slices along an axis, at indices of data; negative ones count from the end.

    A float at an index outside is NaN; of other types indices have to be inside
    (``graph/ir/ranges.py``). ``checked`` says that indices are known to be in ``0 .. size - 1``.
    """
    d, rank = normal_axis(axis, x.rank), indices.rank

    def element(*i: Term) -> Term:
        def read(place: Term) -> Term:
            return x[(*i[:d], place, *i[d + rank :])]

        place = po.cast("i64", indices[i[d : d + rank]])
        return _found(x.shape[d], place, read, checked, is_float=x.dtype.is_float)

    return make.stage((*x.shape[:d], *indices.shape, *x.shape[d + 1 :]), element)


def _elements_rule(x: Value, indices: Value, *, axis: int = 0, checked: int = 0) -> Result:
    d = normal_axis(axis, len(x.shape))
    _ = checked
    _need_indices(indices)
    _need_lines(x, indices, d)
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

        place = po.cast("i64", indices[i])
        return _found(x.shape[d], place, read, checked, is_float=x.dtype.is_float)

    return make.stage(indices.shape, element)


# -- writing at indices -------------------------------------------------------------------------

#: how updates of one place join
_JOINS: dict[str, tuple[Callable[..., Term], Callable[[Term, Term], Term]]] = {
    "add": (po.sum, lambda a, b: a + b),
    "mul": (po.product, lambda a, b: a * b),
    "max": (po.max, po.max),
    "min": (po.min, po.min),
}


def _scatter_rule(
    x: Value, indices: Value, updates: Value, *, axis: int = 0, reduction: str = "none"
) -> Result:
    d = normal_axis(axis, len(x.shape))
    _need_indices(indices)
    if reduction != "none" and reduction not in _JOINS:
        raise GraphError(f"a reduction is none, {', '.join(_JOINS)}, not {reduction!r}")
    if updates.shape != indices.shape or updates.dtype != x.dtype:
        raise GraphError(f"updates {updates} do not fit indices {list(indices.shape)} of {x}")
    _need_lines(x, indices, d)
    return Result(x.shape, x.dtype)


@operator("scatter_elements", result=_scatter_rule)
def scatter_elements(
    make: Maker,
    x: Tensor,
    indices: Tensor,
    updates: Tensor,
    *,
    axis: int = 0,
    reduction: str = "none",
) -> Tensor:
    """``x`` with updates at the places along an axis that indices of data say.

    Of several updates of one place the last counts, or all joined with the element by
    ``reduction``: add, mul, max or min. Negative indices count from the end. An index outside makes
    floats of its line NaN; of other types indices have to be inside (``graph/ir/ranges.py``). Each
    element looks at all updates of its line: the work is elements times updates along the axis.
    """
    line = _Line(x, indices, normal_axis(axis, x.rank))
    if reduction != "none":
        return _joined(make, line, updates, reduction)
    count = indices.shape[line.axis]

    def place(*i: Term) -> Term:
        def found(k: Term) -> Term:
            return line.chosen(i, k, po.cast("i64", k), po.cast("i64", -1), po.cast("i64", count))

        return po.max(found, **line.all)

    last = make.stage(x.shape, place, part="last", dtype=I64)

    def element(*i: Term) -> Term:
        update = updates[line.at(i, po.clamp(last[i], 0, count - 1))]
        found = po.select(last[i] < 0, x[i], update)
        return po.select(last[i] < count, found, float("nan")) if x.dtype.is_float else found

    return make.stage(x.shape, element)


@dataclass(frozen=True)
class _Line:
    """What is written along an axis."""

    x: Tensor
    indices: Tensor
    axis: int

    @property
    def all(self) -> dict[str, Any]:
        """All updates of a line."""
        return {"over": {"k": self.indices.shape[self.axis]}}

    def at(self, i: Sequence[Term], k: Term) -> tuple[Term, ...]:
        """Update ``k`` of the line of an element; another one where the line has no updates."""
        shapes = zip(i, self.indices.shape, self.x.shape, strict=True)
        return tuple(k if e == self.axis else place if few == many else po.min(place, few - 1)
                     for e, (place, few, many) in enumerate(shapes))  # fmt: skip

    def chosen(self, i: Sequence[Term], k: Term, one: object, other: object, bad: object) -> Term:
        """``one`` where update ``k`` is the element's, else ``other``; of floats ``bad`` where its
        index is outside."""
        size = self.x.shape[self.axis]
        given = po.cast("i64", self.indices[self.at(i, k)])
        place = po.select(given < 0, given + size, given)
        found = po.select(place == i[self.axis], one, other)
        if self.x.dtype.is_float:
            found = po.select((place >= 0) & (place < size), found, bad)
        for e, (few, many) in enumerate(zip(self.indices.shape, self.x.shape, strict=True)):
            if e != self.axis and few < many:
                found = po.select(i[e] < few, found, other)
        return found


def _joined(make: Maker, line: _Line, updates: Tensor, reduction: str) -> Tensor:
    """Each element joined with all its updates."""
    x = line.x
    reduce, join = _JOINS[reduction]

    is_extreme = reduction in {"max", "min"}
    checks = is_extreme and x.dtype.is_float

    def value(*i: Term) -> Term:
        other = x[i] if is_extreme else po.cast(make.dtype.computed.name, int(reduction == "mul"))
        bad = other if checks else float("nan")

        def update(k: Term) -> Term:
            return line.chosen(i, k, updates[line.at(i, k)], other, bad)

        return reduce(update, **line.all)

    parts = make.stage(x.shape, value, part="updates")
    if not checks:
        return make.stage(x.shape, lambda *i: join(x[i], parts[i]))

    def has_nan(*i: Term) -> Term:  # C's extremes pass NaN over
        def is_nan(k: Term) -> Term:
            update = updates[line.at(i, k)]
            return line.chosen(i, k, po.select(update == update, 0, 1), 0, 1)  # noqa: PLR0124

        return po.max(is_nan, **line.all)

    no_number = make.stage(x.shape, has_nan, part="nan", dtype=I32)

    def result(*i: Term) -> Term:
        is_number = (no_number[i] == 0) & (x[i] == x[i])
        return po.select(is_number, join(x[i], parts[i]), float("nan"))

    return make.stage(x.shape, result)
