"""Slices and broadcasting, as NumPy has them, on sizes that are parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.errors import NonAffineError, UnsupportedError
from polyopt.frontend.arrays.grid import Along, Fixed, Grid, Subscript, reindexed
from polyopt.ir.expr import index_of
from polyopt.isl import affine_constant, constant_value, dim_type, lift_form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.frontend.arrays.facts import Facts
    from polyopt.isl import PwAff, Set, Space


@dataclass(frozen=True, eq=False)
class Place:
    """Where a question about sizes is asked: the loops and conditions around, and what holds."""

    facts: Facts
    #: { [i] : ... }
    domain: Set

    @property
    def space(self) -> Space:
        """``{ [i] }``."""
        return self.domain.get_space()

    def constant(self, value: int) -> PwAff:
        """``{ [i] -> [value] }``."""
        return affine_constant(self.space, value)

    def always(self, condition: Set) -> bool:
        """Whether a condition holds here: see ``Facts.always``."""
        return self.facts.always(condition, self.domain)

    def equal(self, one: PwAff, other: PwAff) -> bool:
        """Whether two extents are equal here: see ``Facts.equal``."""
        return self.facts.equal(one, other, self.domain)


def index_from(form: PwAff, extent: PwAff, here: Place) -> PwAff:
    """A subscript as Python counts: negative ones from the end."""
    zero = here.constant(0)
    number = constant_value(form)
    if number is not None:
        form = form if number >= 0 else extent.add(form)
    elif not here.always(form.ge_set(zero)):
        below = form.lt_set(zero)
        form = form.add(extent).intersect_domain(below).union_add(form.subtract_domain(below))
    here.always(form.lt_set(extent))  # where it is not, the analysis of bounds says so
    return form


def walk(
    lower: PwAff | None, upper: PwAff | None, step: int, extent: PwAff, here: Place
) -> tuple[PwAff, PwAff]:
    """First index and number of elements of ``lower:upper:step`` of an axis.

    Raises ``NonAffineError`` where sizes do not decide how the ends are cut off, and
    ``UnsupportedError`` for an empty slice.
    """
    zero, one = here.constant(0), here.constant(1)
    if step > 0:
        first = zero if lower is None else _cut(lower, extent, zero, extent, here)
        last = extent if upper is None else _cut(upper, extent, zero, extent, here)
        gap = last.sub(first)
    else:
        top = extent.sub(one)
        first = top if lower is None else _cut(lower, extent, zero.sub(one), top, here)
        last = zero.sub(one) if upper is None else _cut(upper, extent, zero.sub(one), top, here)
        gap = first.sub(last)
    if not here.always(gap.gt_set(zero)):
        if not gap.involves_dims(dim_type.in_, 0, gap.dim(dim_type.in_)):
            raise UnsupportedError("this slice is empty", hint="for such sizes, call plain Python")
        gap = gap.max(zero)  # empty in some iterations of the loops around
    if abs(step) == 1:
        return first, gap
    stride = here.constant(abs(step))
    return first, gap.add(stride).sub(one).div(stride).floor()


def _cut(end: PwAff, extent: PwAff, low: PwAff, high: PwAff, here: Place) -> PwAff:
    """An end of a slice: negative ones count from the end of the axis; cut off at its ends."""
    zero = here.constant(0)
    number = constant_value(end)
    if (number is not None and number < 0) or (
        number is None and not here.always(end.ge_set(zero))
    ):
        if number is None and not here.always(end.lt_set(zero)):
            raise NonAffineError(
                "this end of a slice is negative for some iterations and not for others",
                hint="clamp it with max(..., 0)",
            )
        end = end.add(extent)
    if here.always(end.ge_set(low)):
        inside = end
    elif here.always(end.le_set(low)):
        return low
    else:
        inside = end.max(low)
    if here.always(inside.le_set(high)):
        return inside
    return high if here.always(inside.ge_set(high)) else inside.min(high)


def broadcast(shapes: Sequence[Sequence[PwAff]], here: Place) -> tuple[PwAff, ...]:
    """The shape of an operation on arrays of these shapes.

    Raises ``UnsupportedError`` for shapes that do not fit together.
    """
    rank = max((len(shape) for shape in shapes), default=0)
    result: list[PwAff] = []
    for axis in range(-rank, 0):
        extents = [lift_form(s[axis], here.space) for s in shapes if len(s) >= -axis]
        chosen = extents[0]
        for extent in extents[1:]:
            chosen = _stretched(chosen, extent, here)
        result.append(chosen)
    return tuple(result)


def _stretched(one: PwAff, other: PwAff, here: Place) -> PwAff:
    if _is_one(one):
        return other
    if _is_one(other) or here.equal(one, other):
        return one
    unit = here.constant(1)
    if here.equal(other, unit):
        return one
    if here.equal(one, unit):
        return other
    raise UnsupportedError(
        f"shapes that do not fit together: {_text(one)} and {_text(other)}",
        hint="extents have to be equal, or 1",
    )


def _is_one(extent: PwAff) -> bool:
    return constant_value(extent) == 1


def _text(extent: PwAff) -> str:
    text = str(extent)
    return text[text.rindex("[(") + 2 : text.rindex(")]")]


def broadcast_to(grid: Grid, shape: Sequence[PwAff], here: Place) -> Grid:
    """The array stretched to a shape: missing axes, and those of extent 1, repeat.

    Raises ``UnsupportedError`` where it does not fit.
    """
    shape = [lift_form(extent, here.space) for extent in shape]
    extra = grid.rank - len(shape)
    for extent in grid.shape[: max(0, extra)]:
        if not here.equal(lift_form(extent, here.space), here.constant(1)):
            raise UnsupportedError("an array of more dimensions than what it is assigned to")
    picks: list[Subscript] = []
    zero = here.constant(0)
    for axis, extent in enumerate(grid.shape):
        if axis < extra or _repeats(extent, shape[axis - extra], here):
            picks.append(Fixed(index_of(zero)))
        else:
            picks.append(Along(axis - extra, zero, 1))
    return reindexed(grid, picks, shape, here.space)


def _repeats(extent: PwAff, wanted: PwAff, here: Place) -> bool:
    """Whether an axis of extent 1 stands for all of ``wanted``; refused where it is no 1."""
    extent, wanted = (lift_form(e, here.space) for e in (extent, wanted))
    if _is_one(extent):
        return not _is_one(wanted)
    if here.equal(extent, wanted):
        return False
    if here.equal(extent, here.constant(1)):
        return True
    raise UnsupportedError(
        f"shapes that do not fit together: {_text(extent)} and {_text(wanted)}",
        hint="extents have to be equal, or 1",
    )
