"""Products of arrays: ``@``, ``np.dot``, ``np.inner``, ``np.outer`` and the like."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.grid import Along, Computed, Grid, Placed, reindexed
from polyopt.frontend.arrays.slices import broadcast, broadcast_to
from polyopt.frontend.values import Number, Strong, Value, binary, common_type, typed
from polyopt.ir.types import BOOL
from polyopt.isl import affine_constant, lift_form

if TYPE_CHECKING:
    import ast
    from collections.abc import Mapping, Sequence

    from polyopt.frontend.arrays.expressions import ArrayExpressions
    from polyopt.frontend.arrays.functions.calls import Call, Handler
    from polyopt.isl import PwAff, Space


def matmul(
    read: ArrayExpressions, one: Grid | Value, other: Grid | Value, node: ast.AST
) -> Grid | Value:
    """``one @ other``. Raises ``UnsupportedError`` for numbers, and for shapes that do not fit."""
    if not isinstance(one, Grid) or not isinstance(other, Grid):
        raise UnsupportedError("@ multiplies arrays, and this is a number", hint="use *")
    left, right = (_named(read, grid, node) for grid in (one, other))
    if left.rank == 1:
        left = _with_axis(read, left, 0)
    if right.rank == 1:
        right = _with_axis(read, right, 1)
    found = _contracted(read, left, right, node)
    drop = [found.rank - 2] * (one.rank == 1) + [found.rank - 1] * (other.rank == 1)
    return _without(read, found, drop)


def _named(read: ArrayExpressions, grid: Grid, node: ast.AST) -> Grid:
    """An operand that is used many times is computed once."""
    return grid if isinstance(grid, Placed) else read.statements.materialise(grid, node)


def _with_axis(read: ArrayExpressions, grid: Grid, axis: int) -> Grid:
    """A vector as a matrix: with an axis of extent 1 in that place."""
    space = read.scope.space
    one, zero = affine_constant(space, 1), affine_constant(space, 0)
    shape = [one, grid.shape[0]] if axis == 0 else [grid.shape[0], one]
    return reindexed(grid, [Along(1 - axis, zero, 1)], shape, space)


def _without(read: ArrayExpressions, grid: Placed, axes: Sequence[int]) -> Grid | Value:
    """The array without some axes of extent 1; a number where none are left."""
    space = read.scope.space
    kept = [k for k in range(grid.rank) if k not in axes]
    zero = affine_constant(space, 0)

    def whole_index(index: Sequence[PwAff], space: Space) -> list[PwAff]:
        given = iter(index)
        return [affine_constant(space, 0) if k in axes else next(given) for k in range(grid.rank)]

    if not kept:
        return grid.at([zero] * grid.rank, space)
    if not axes:
        return grid
    return Computed(
        tuple(grid.shape[k] for k in kept),
        lambda index, space: grid.at(whole_index(index, space), space),
    )


def _contracted(read: ArrayExpressions, left: Grid, right: Grid, node: ast.AST) -> Placed:
    """Matrix products over the last axes, for each index of those before."""
    here, space = read.here, read.scope.space
    inner, other = (lift_form(e, space) for e in (left.shape[-1], right.shape[-2]))
    if not here.equal(inner, other):
        raise UnsupportedError("shapes that do not fit together for @")
    batch = broadcast([left.shape[:-2], right.shape[:-2]], here)
    left = broadcast_to(left, (*batch, *left.shape[-2:]), here)
    right = broadcast_to(right, (*batch, *right.shape[-2:]), here)
    zeros = [affine_constant(space, 0)] * (len(batch) + 2)
    kind = common_type(left.at(zeros, space), right.at(zeros, space))
    if kind == BOOL:
        raise UnsupportedError("a product of matrices of truth values")
    statements = read.statements
    placed = statements.temp(kind, (*batch, left.shape[-2], right.shape[-1]), node)
    statements.store(placed, Strong(typed(Number(0), kind)), node, first=True)
    with statements.loops((*placed.shape, inner)) as (index, deeper):
        *outer, row, column, k = index
        product = binary(
            "mul",
            left.at((*outer, row, k), deeper), right.at((*outer, k, column), deeper),
        )  # fmt: skip
        place = (*outer, row, column)
        statements.emit(placed, place, binary("add", placed.at(place, deeper), product), node)
    return placed


def _dot(call: Call) -> Any:  # noqa: ANN401
    one, other = call.numeric("a"), call.numeric("b")
    if not isinstance(one, Grid) or not isinstance(other, Grid):
        return call.read.elementwise(partial(binary, "mul"), [one, other], call.node)
    if one.rank > 2 or other.rank > 2:
        raise UnsupportedError("np.dot of arrays of more than two dimensions", hint="use @")
    return matmul(call.read, one, other, call.node)


def _matmul(call: Call) -> Any:  # noqa: ANN401
    return matmul(call.read, call.numeric("a"), call.numeric("b"), call.node)


def _inner(call: Call) -> Any:  # noqa: ANN401
    one, other = call.array("a"), call.array("b")
    if other.rank == 2:
        other = call.read.transposed(other, (1, 0))
    return matmul(call.read, one, other, call.node)


def _outer(call: Call) -> Any:  # noqa: ANN401
    one, other = call.array("a"), call.array("b")
    if one.rank != 1 or other.rank != 1:
        raise UnsupportedError("np.outer of arrays of several dimensions")
    sides = [_with_axis(call.read, one, 1), _with_axis(call.read, other, 0)]
    return call.read.elementwise(partial(binary, "mul"), sides, call.node)


#: functions, the names of their arguments, and what reads them
FUNCTIONS: Mapping[object, tuple[str, Handler]] = {
    np.dot: ("a b", _dot),
    np.vdot: ("a b", _dot),
    np.matmul: ("a b", _matmul),
    np.inner: ("a b", _inner),
    np.outer: ("a b", _outer),
}
#: methods, the names of their arguments after the array, and what reads them
METHODS: Mapping[str, tuple[str, Handler]] = {"dot": ("b", _dot)}
