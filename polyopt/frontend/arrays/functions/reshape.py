"""``reshape`` and ``ravel``: the same elements in another shape, as NumPy's views or copies.

Axes are put into groups whose elements are as many before as after. Where each element of a group
is, is affine where all extents but the first of the group are known: these become sizes of the call
that the program is made for.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from polyopt.errors import InternalError, UnsupportedError
from polyopt.frontend.arrays.grid import Along, Computed, Fixed, Mixed, Pair, Placed, reindexed
from polyopt.frontend.loops.scope import Shape
from polyopt.frontend.values import Number, need_form
from polyopt.ir.expr import index_of
from polyopt.isl import constant_value, lift_form

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.frontend.arrays.functions.calls import Call, Handler
    from polyopt.frontend.arrays.grid import Grid, Subscript
    from polyopt.frontend.arrays.slices import Place
    from polyopt.frontend.values import Value
    from polyopt.isl import PwAff

#: extents of a call of the method: as one tuple, or apart
_EXTENTS = "shape shape_1 shape_2 shape_3 shape_4 shape_5"
#: extents that no size decides
_OF_LOOPS = "another shape of an array whose extent depends on a loop"


def _reshape(call: Call) -> Grid:
    from polyopt.frontend.arrays.operands import Items

    given = [call.operand(n) for n in _EXTENTS.split() if call.node_of(n) is not None]
    if len(given) == 1 and isinstance(given[0], Shape):
        return _in_shape(call, call.array("a"), [size.form for size in given[0].sizes])
    wanted = given[0].items if len(given) == 1 and isinstance(given[0], Items) else given
    extents = [_wanted(call, call.read.as_number(item)) for item in wanted]
    return _in_shape(call, call.array("a"), extents)


def _ravel(call: Call) -> Grid:
    grid = call.array("a")
    if not _is_contiguous(call.read.here, grid):
        grid = Computed(grid.shape, grid.at)
    return grid if grid.rank == 1 else _in_shape(call, grid, [None])


def _is_contiguous(here: Place, grid: Grid) -> bool:
    """Whether elements along the innermost axis lie side by side: others NumPy's ``ravel`` copies,
    where ``reshape`` gives a view. True of what is no stored array."""
    placed = grid.re if isinstance(grid, Pair) else grid
    if not isinstance(placed, Placed):
        return True
    sizes = [here.facts.value(lift_form(extent, here.space)) for extent in placed.shape]
    inner = max((axis for axis, size in enumerate(sizes) if size != 1), default=None)
    places = placed.subscripts[: -1 if isinstance(grid, Pair) else None]
    extents = placed.array.extents[: len(places)]
    for place, subscript in enumerate(places):
        if isinstance(subscript, Mixed) and (inner, 1) in subscript.steps:
            return len(places) == placed.array.rank or isinstance(grid, Pair)
        if isinstance(subscript, Along) and subscript.axis == inner:
            after = [_over(extent, here) for extent in extents[place + 1 :]]
            one = here.constant(1)
            return subscript.step == 1 and all(here.equal(extent, one) for extent in after)
    return inner is None


def _flatten(call: Call) -> Grid:
    found = _ravel(call)
    return Computed(found.shape, found.at)


def _wanted(call: Call, value: Value) -> PwAff | None:
    """An extent; ``None`` for -1, which is what the others leave."""
    if isinstance(value, Number) and value.value == -1:
        return None
    space = call.read.scope.space
    return lift_form(need_form(value, space, "the extent of an array"), space)


def _in_shape(call: Call, grid: Grid, wanted: Sequence[PwAff | None]) -> Grid:
    here, space = call.read.here, call.read.scope.space
    if sum(extent is None for extent in wanted) > 1:
        raise UnsupportedError("a shape with more than one extent that the others leave")
    own = [lift_form(e, space) for e in grid.shape]
    found = _by_units(here, own, wanted)
    if found is not None:
        return reindexed(grid, *found, space)
    sizes = [here.facts.value(extent) for extent in own]
    asked = [-1 if e is None else here.facts.value(e) for e in wanted]
    if None in sizes or None in asked:
        raise UnsupportedError(_OF_LOOPS, hint="loop over the elements")
    old, new = (
        [s or 0 for s in sizes],
        _without_rest([a or 0 for a in asked], prod(s or 0 for s in sizes)),
    )
    picks, shape = _units(here, own, old), [here.constant(1) for _ in new]
    for extent, size in zip(wanted, new, strict=True):
        if size == 1 and extent is not None:
            _fix(here, extent, 1)
    groups = _groups(old, new)
    for group in groups:
        _regroup(here, group, own, wanted, picks, shape)
    copied = grid if _is_view(here, grid, groups) else Computed(grid.shape, grid.at)
    return reindexed(copied, picks, shape, space)


def _by_units(
    here: Place, own: Sequence[PwAff], wanted: Sequence[PwAff | None]
) -> tuple[list[Subscript], list[PwAff]] | None:
    """The array's own axes in their order, with axes of extent 1 more or less, whatever the sizes:
    subscripts and extents. Nothing where that is not it."""
    zero, one = here.constant(0), here.constant(1)
    picks: list[Subscript] = [Fixed(index_of(zero)) for _ in own]
    shape: list[PwAff] = []
    at = 0
    for k, extent in enumerate(wanted):
        while at < len(own) and constant_value(own[at]) == 1 and not _is_one(extent):
            at += 1
        if at < len(own) and (extent is None or here.equal(extent, own[at])):
            picks[at] = Along(k, zero, 1)
            shape.append(own[at])
            at += 1
        elif extent is None or _is_one(extent):
            shape.append(one)
        else:
            return None
    if any(constant_value(e) != 1 for e in own[at:]):
        return None
    return picks, shape


def _is_one(extent: PwAff | None) -> bool:
    return extent is not None and constant_value(extent) == 1


@dataclass(frozen=True)
class _Group:
    """Axes, none of extent 1, that have as many elements before as after, and their sizes."""

    old: tuple[tuple[int, int], ...]
    new: tuple[tuple[int, int], ...]


def _without_rest(asked: list[int], count: int) -> list[int]:
    """Extents with what -1 stands for.

    Raises ``UnsupportedError`` for another number of elements.
    """
    others = prod(size for size in asked if size != -1)
    if asked.count(-1) == 1 and others > 0 and count % others == 0:
        return [count // others if size == -1 else size for size in asked]
    if -1 in asked or others != count:
        raise UnsupportedError("a shape of another number of elements")
    return asked


def _groups(old: Sequence[int], new: Sequence[int]) -> list[_Group]:
    """The least groups of axes, from the first on."""
    left = [(k, size) for k, size in enumerate(old) if size != 1]
    right = [(k, size) for k, size in enumerate(new) if size != 1]
    found: list[_Group] = []
    while left:
        one, other = [left.pop(0)], [right.pop(0)]
        while (gap := prod(s for _, s in one) - prod(s for _, s in other)) != 0:
            if gap < 0:
                one.append(left.pop(0))
            else:
                other.append(right.pop(0))
        found.append(_Group(tuple(one), tuple(other)))
    return found


def _fix(here: Place, extent: PwAff, size: int) -> None:
    """Make an extent the size that it has in the first call."""
    if not here.equal(extent, here.constant(size)):
        raise InternalError("an extent is not what it is")


def _units(here: Place, own: Sequence[PwAff], old: Sequence[int]) -> list[Subscript]:
    for extent, size in zip(own, old, strict=True):
        if size == 1:
            _fix(here, extent, 1)
    return [Fixed(index_of(here.constant(0))) for _ in own]


def _regroup(
    here: Place,
    group: _Group,
    own: Sequence[PwAff],
    wanted: Sequence[PwAff | None],
    picks: list[Subscript],
    shape: list[PwAff],
) -> None:
    """Enter a group's subscripts and extents; all but its first extents are known from here on."""
    for axis, size in group.old[1:]:
        _fix(here, own[axis], size)
    for axis, size in group.new[1:]:
        extent = wanted[axis]
        if extent is not None:
            _fix(here, extent, size)
        shape[axis] = here.constant(size)
    shape[group.new[0][0]] = _first(here, group, own, wanted)
    steps = [
        (axis, prod(s for _, s in group.new[k + 1 :])) for k, (axis, _) in enumerate(group.new)
    ]
    for k, (axis, size) in enumerate(group.old):
        within = prod(s for _, s in group.old[k + 1 :])
        picks[axis] = Mixed(tuple(steps), here.constant(0), within, size if k else None)


def _first(
    here: Place, group: _Group, own: Sequence[PwAff], wanted: Sequence[PwAff | None]
) -> PwAff:
    """The first extent of a group, which may stay open."""
    before, after = (prod(s for _, s in axes[1:]) for axes in (group.old, group.new))
    count = own[group.old[0][0]].mul(here.constant(before))
    asked = wanted[group.new[0][0]]
    if asked is not None:
        if not here.equal(asked.mul(here.constant(after)), count):
            raise InternalError("an extent is not what it is")
        return asked
    rest = count.div(here.constant(after)).floor()
    here.always(rest.mul(here.constant(after)).eq_set(count))
    return rest


def _is_view(here: Place, grid: Grid, groups: Sequence[_Group]) -> bool:
    """Whether NumPy gives a view: where the axes that are merged have one stride.

    A copy is made for the sizes of the first call alone: what is a view depends on them. Raises
    ``UnsupportedError`` for a view that is not taken: of merged axes with steps.
    """
    if isinstance(grid, Pair):
        return _is_view(here, grid.re, groups)
    if not isinstance(grid, Placed):
        return False
    places = {s.axis: p for p, s in enumerate(grid.subscripts) if isinstance(s, Along)}
    merged = [[axis for axis, _ in group.old] for group in groups if len(group.old) > 1]
    if all(_is_dense(grid, axes, [places.get(axis, -1) for axis in axes]) for axes in merged):
        return True
    strides = _strides(here, grid)
    for group in groups:
        for (axis, _), (inner, size) in pairwise(group.old):
            if strides[axis] != size * strides[inner]:
                return False
    raise UnsupportedError(
        "a view in another shape of a part with steps",
        hint="reshape a copy of it, such as a[:, ::2].copy().reshape(...)",
    )


def _strides(here: Place, grid: Placed) -> list[int]:
    """How many elements of its array apart an array's elements are, by axis; fixes the sizes."""
    extents = [_fixed(here, lift_form(_over(e, here), here.space)) for e in grid.array.extents]
    for extent in grid.shape:
        _fixed(here, lift_form(extent, here.space))
    strides = [0] * grid.rank
    for place, subscript in enumerate(grid.subscripts):
        within = prod(extents[place + 1 :])
        if isinstance(subscript, Along):
            strides[subscript.axis] += subscript.step * within
        elif isinstance(subscript, Mixed):
            raise UnsupportedError(
                "another shape of a part of an array in another shape",
                hint="reshape a copy of it",
            )
    return strides


def _over(extent: PwAff, here: Place) -> PwAff:
    return extent.insert_domain(here.space) if extent.get_domain_space().is_params() else extent


def _fixed(here: Place, extent: PwAff) -> int:
    size = here.facts.value(extent)
    if size is None:
        raise UnsupportedError(_OF_LOOPS, hint="loop over the elements")
    _fix(here, extent, size)
    return size


def _is_dense(grid: Placed, axes: Sequence[int], places: Sequence[int]) -> bool:
    if -1 in places or list(places) != list(range(places[0], places[0] + len(places))):
        return False
    found = [grid.subscripts[place] for place in places]
    return all(isinstance(s, Along) and s.step == 1 for s in found) and all(
        isinstance(s, Along)
        and s.is_whole
        and constant_value(grid.shape[axis]) is not None
        and constant_value(grid.shape[axis]) == constant_value(grid.array.extents[place])
        for s, axis, place in zip(found[1:], axes[1:], places[1:], strict=True)
    )


#: functions, the names of their arguments, and what reads them
FUNCTIONS: Mapping[object, tuple[str, Handler]] = {
    np.ravel: ("a", _ravel),
    np.reshape: ("a shape", _reshape),
}
#: methods, the names of their arguments after the array, and what reads them
METHODS: Mapping[str, tuple[str, Handler]] = {
    "ravel": ("", _ravel),
    "flatten": ("", _flatten),
    "reshape": (_EXTENTS, _reshape),
}
