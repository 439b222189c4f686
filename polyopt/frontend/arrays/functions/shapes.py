"""Arrays in another order: transposed, flipped, rolled, joined."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.grid import (
    Along,
    Computed,
    Fixed,
    Grid,
    Placed,
    Subscript,
    reindexed,
)
from polyopt.frontend.values import Value, binary, type_of
from polyopt.ir.expr import index_of
from polyopt.isl import affine_constant, lift_form

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.frontend.arrays.functions.calls import Call, Handler
    from polyopt.isl import PwAff, Space


def _transpose(call: Call) -> Grid:
    grid = call.array("a")
    order = call.axes("axes", grid.rank) if call.has("axes") else tuple(range(grid.rank))[::-1]
    if sorted(order) != list(range(grid.rank)):
        raise UnsupportedError("axes name each dimension once")
    return call.read.transposed(grid, order)


def _swapaxes(call: Call) -> Grid:
    grid = call.array("a")
    order = list(range(grid.rank))
    (one,), (other,) = call.axes("axis1", grid.rank), call.axes("axis2", grid.rank)
    order[one], order[other] = order[other], order[one]
    return call.read.transposed(grid, order)


def _flip(call: Call) -> Grid:
    grid, space = call.array("m"), call.read.scope.space
    axes = call.axes("axis", grid.rank)
    zero, one = affine_constant(space, 0), affine_constant(space, 1)
    picks = [
        Along(k, lift_form(extent, space).sub(one), -1) if k in axes else Along(k, zero, 1)
        for k, extent in enumerate(grid.shape)
    ]
    return reindexed(grid, picks, grid.shape, space)


def _expand_dims(call: Call) -> Grid:
    grid, space = call.array("a"), call.read.scope.space
    added = call.axes("axis", grid.rank + 1)
    if len(added) != 1:
        raise UnsupportedError("axes are added one at a time")
    zero = affine_constant(space, 0)
    picks = [Along(k + (k >= added[0]), zero, 1) for k in range(grid.rank)]
    shape = list(grid.shape)
    shape.insert(added[0], affine_constant(space, 1))
    return reindexed(grid, picks, shape, space)


def _roll(call: Call) -> Grid:
    grid, shifts = call.array("a"), call.integers("shift")
    axes = call.axes("axis", grid.rank)
    if not call.has("axis") and len(axes) != 1:
        raise UnsupportedError("a roll over several axes", hint="give an axis")
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(axes) != len(shifts):
        raise UnsupportedError("a roll needs as many shifts as axes")
    for axis, shift in zip(axes, shifts, strict=True):
        grid = _rolled(call, grid, axis, shift)
    return grid


def _rolled(call: Call, grid: Grid, axis: int, shift: int) -> Grid:
    space = call.read.scope.space
    extent = lift_form(grid.shape[axis], space)
    if not call.read.here.always(extent.ge_set(affine_constant(space, abs(shift)))):
        raise UnsupportedError("a roll by more than there is")

    def element(index: Sequence[PwAff], space: Space) -> Value:
        moved, length = list(index), lift_form(extent, space)
        from_here = index[axis].sub(affine_constant(space, shift))
        zero = affine_constant(space, 0)
        if shift > 0:
            beyond, wrapped = from_here.lt_set(zero), from_here.add(length)
        else:
            beyond, wrapped = from_here.ge_set(length), from_here.sub(length)
        inside = from_here.subtract_domain(beyond)
        moved[axis] = wrapped.intersect_domain(beyond).union_add(inside)
        return grid.at(moved, space)

    return Computed(grid.shape, element)


def _diff(call: Call) -> Any:  # noqa: ANN401
    grid, space = call.array("a"), call.read.scope.space
    if call.has("n") and call.integer("n", 1) != 1:
        raise UnsupportedError("differences of a higher order", hint="call np.diff again")
    (axis,) = call.axes("axis", grid.rank) if call.has("axis") else (grid.rank - 1,)
    one, zero = affine_constant(space, 1), affine_constant(space, 0)
    shape = [lift_form(e, space) for e in grid.shape]
    shape[axis] = shape[axis].sub(one)
    if not call.read.here.always(shape[axis].gt_set(zero)):
        raise UnsupportedError("the differences of one element", hint="there are none")
    later = [Along(k, one if k == axis else zero, 1) for k in range(grid.rank)]
    earlier = [Along(k, zero, 1) for k in range(grid.rank)]
    sides = [reindexed(grid, picks, shape, space) for picks in (later, earlier)]
    return call.read.elementwise(partial(binary, "sub"), sides, call.node)


def _concatenate(call: Call) -> Grid:
    grids = _arrays(call)
    (axis,) = call.axes("axis", grids[0].rank) if call.has("axis") else (0,)
    return _joined(call, grids, axis)


def _arrays(call: Call) -> list[Grid]:
    from polyopt.frontend.arrays.operands import Items

    operand = call.operand("arrays")
    items = operand.items if isinstance(operand, Items) else ()
    grids = [item for item in items if isinstance(item, Grid)]
    if not grids or len(grids) < len(items) or len({g.rank for g in grids}) > 1:
        raise UnsupportedError("a list of arrays of one number of dimensions is needed")
    return grids


def _joined(call: Call, grids: Sequence[Grid], axis: int) -> Grid:
    """The arrays one after another along an axis."""
    read, space = call.read, call.read.scope.space
    shape = [lift_form(e, space) for e in grids[0].shape]
    zeros = [affine_constant(space, 0)] * len(shape)
    kind = type_of(_promoted([grid.at(zeros, space) for grid in grids]))
    starts = [affine_constant(space, 0)]
    for grid in grids:
        starts.append(starts[-1].add(lift_form(grid.shape[axis], space)))
    placed = read.statements.temp(kind, [*shape[:axis], starts[-1], *shape[axis + 1 :]], call.node)
    for grid, start in zip(grids, starts, strict=False):
        picks: list[Subscript] = [
            Along(k, start if k == axis else zeros[k], 1) for k in range(len(shape))
        ]
        part = reindexed(
            placed, picks, [*shape[:axis], lift_form(grid.shape[axis], space), *shape[axis + 1 :]],
            space,
        )  # fmt: skip
        assert isinstance(part, Placed)
        read.statements.store(part, grid, call.node, first=True)
    return placed


def _promoted(values: Sequence[Value]) -> Value:
    result = values[0]
    for value in values[1:]:
        result = binary("max", result, value)
    return result


def _stack(call: Call) -> Grid:
    grids, space = _arrays(call), call.read.scope.space
    rank = grids[0].rank
    (axis,) = call.axes("axis", rank + 1) if call.has("axis") else (0,)
    zero, one = affine_constant(space, 0), affine_constant(space, 1)
    picks = [Along(k + (k >= axis), zero, 1) for k in range(rank)]
    shaped = [reindexed(g, picks, [*g.shape[:axis], one, *g.shape[axis:]], space) for g in grids]
    return _joined(call, shaped, axis)


def _squeeze(call: Call) -> Grid:
    grid, space, here = call.array("a"), call.read.scope.space, call.read.here
    one = here.constant(1)
    asked = call.axes("axis", grid.rank)
    extents = [lift_form(extent, space) for extent in grid.shape]
    axes = {axis for axis in asked if here.equal(extents[axis], one)}
    if call.has("axis") and axes != set(asked):
        raise UnsupportedError("an axis is dropped that is not of one element")
    if len(axes) == grid.rank:
        raise UnsupportedError("all axes are dropped", hint="take the element by its subscripts")
    others = [extents[axis] for axis in asked if axis not in axes]
    if not all(here.always(extent.ne_set(one)) for extent in others):
        raise UnsupportedError("an axis has one element in some iterations of a loop")
    kept = [k for k in range(grid.rank) if k not in axes]
    zero = affine_constant(space, 0)
    picks = [
        Fixed(index_of(zero)) if k in axes else Along(kept.index(k), zero, 1)
        for k in range(grid.rank)
    ]
    return reindexed(grid, picks, [grid.shape[k] for k in kept], space)


#: functions, the names of their arguments, and what reads them
FUNCTIONS: Mapping[object, tuple[str, Handler]] = {
    np.transpose: ("a axes", _transpose),
    np.swapaxes: ("a axis1 axis2", _swapaxes),
    np.flip: ("m axis", _flip),
    np.expand_dims: ("a axis", _expand_dims),
    np.squeeze: ("a axis", _squeeze),
    np.roll: ("a shift axis", _roll),
    np.diff: ("a n axis", _diff),
    np.concatenate: ("arrays axis", _concatenate),
    np.stack: ("arrays axis", _stack),
}
#: methods, the names of their arguments after the array, and what reads them
METHODS: Mapping[str, tuple[str, Handler]] = {
    "transpose": ("axes", _transpose),
    "swapaxes": ("axis1 axis2", _swapaxes),
    "squeeze": ("axis", _squeeze),
}
