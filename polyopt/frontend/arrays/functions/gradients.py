"""``np.gradient``: central differences inside, differences of neighbours at the ends."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.functions.padding import nearest
from polyopt.frontend.arrays.functions.products import named
from polyopt.frontend.arrays.grid import Computed, Grid, strong
from polyopt.frontend.complex_values import as_element
from polyopt.frontend.values import Number, Value, Where, binary, is_weak, select
from polyopt.ir.types import BF16, F64
from polyopt.isl import affine_constant, lift_form

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.frontend.arrays.functions.calls import Call, Handler
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff, Space


#: arguments that are no keywords: the array and one distance
_POSITIONAL = 2


def _gradient(call: Call) -> Any:  # noqa: ANN401
    from polyopt.frontend.arrays.operands import Items

    grid = call.array("f")
    kind = grid.type(call.read.scope.space)
    if not kind.is_float or kind == BF16:  # NumPy does not know that ml_dtypes' numbers are floats
        kind = F64
    spacing = call.numeric("spacing") if call.has("spacing") else Number(1)
    if isinstance(spacing, Grid) or not is_weak(spacing) or len(call.node.args) > _POSITIONAL:
        raise UnsupportedError(
            "np.gradient with coordinates, or several distances, is not taken",
            hint="give one distance, a Python number",
        )
    grid = named(call.read, grid, call.node)
    found = tuple(_along(call, grid, axis, kind, spacing) for axis in call.axes("axis", grid.rank))
    return found[0] if len(found) == 1 else Items(found)


def _along(call: Call, grid: Grid, axis: int, kind: ScalarType, spacing: Value) -> Grid:
    space = call.read.scope.space
    extent = lift_form(grid.shape[axis], space)
    if not call.read.here.always(extent.gt_set(affine_constant(space, 1))):
        raise UnsupportedError("a gradient along an axis that may have a single element")

    def element(index: Sequence[PwAff], space: Space) -> Value:
        extent, one = lift_form(grid.shape[axis], space), affine_constant(space, 1)
        here = index[axis]
        ends = here.lt_set(one).union(here.add(one).ge_set(extent))

        def at(place: PwAff) -> Value:
            moved = [*index[:axis], nearest(place, extent), *index[axis + 1 :]]
            return as_element(kind, grid.at(moved, space))

        apart = binary("sub", at(here.add(one)), at(here.sub(one)))
        steps = (spacing, binary("mul", Number(2), spacing))
        return strong(select(Where(ends), *map(partial(binary, "truediv", apart), steps)))

    return Computed(grid.shape, element)


#: functions, the names of their arguments, and what reads them
FUNCTIONS: Mapping[object, tuple[str, Handler]] = {
    np.gradient: ("f spacing axis", _gradient),
}
