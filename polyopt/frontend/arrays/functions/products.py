"""Products of arrays: ``@``, ``np.dot``, ``np.inner``, ``np.outer`` and the like."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.grid import Along, Computed, Grid, Pair, Placed, reindexed
from polyopt.frontend.arrays.slices import broadcast, broadcast_to
from polyopt.frontend.complex_values import as_element, conjugate, kind_of
from polyopt.frontend.values import Compound, Number, Value, binary, common_type
from polyopt.ir.types import BF16, BOOL
from polyopt.isl import affine_constant, lift_form

if TYPE_CHECKING:
    import ast
    from collections.abc import Mapping, Sequence

    from polyopt.frontend.arrays.expressions import ArrayExpressions
    from polyopt.frontend.arrays.functions.calls import Call, Handler
    from polyopt.ir.types import ScalarType


def matmul(
    read: ArrayExpressions, one: Grid | Value, other: Grid | Value, node: ast.AST
) -> Grid | Value:
    """``one @ other``, of bfloat16 in single precision, as ``ml_dtypes`` has NumPy do it.

    Raises ``UnsupportedError`` for numbers, and for shapes that do not fit.
    """
    return _product(read, one, other, node, widened=BF16)


def _product(
    read: ArrayExpressions,
    one: Grid | Value,
    other: Grid | Value,
    node: ast.AST,
    widened: ScalarType | None = None,
) -> Grid | Value:
    """``one @ other``; a product of the type that is ``widened`` is left in the type that it is
    computed in."""
    if not isinstance(one, Grid) or not isinstance(other, Grid):
        raise UnsupportedError("@ multiplies arrays, and this is a number", hint="use *")
    left, right = (named(read, grid, node) for grid in (one, other))
    found = _contracted(read, left, right, node, widened)
    return found if found.rank else found.at((), read.scope.space)


def named(read: ArrayExpressions, grid: Grid, node: ast.AST) -> Grid:
    """An operand that is used many times is computed once."""
    return grid if isinstance(grid, Placed | Pair) else read.statements.materialise(grid, node)


def _with_axis(read: ArrayExpressions, grid: Grid, axis: int) -> Grid:
    """A vector as a matrix: with an axis of extent 1 in that place."""
    space = read.scope.space
    one, zero = affine_constant(space, 1), affine_constant(space, 0)
    shape = [one, grid.shape[0]] if axis == 0 else [grid.shape[0], one]
    return reindexed(grid, [Along(1 - axis, zero, 1)], shape, space)


def _contracted(
    read: ArrayExpressions, left: Grid, right: Grid, node: ast.AST, widened: ScalarType | None
) -> Grid:
    """Products over the last axes, for each index of those before; vectors have no other axis, and
    the result none for them."""
    here, space = read.here, read.scope.space
    rows, columns = left.shape[-2:-1], right.shape[-1:] if right.rank > 1 else ()
    inner, other = (lift_form(e, space) for e in (left.shape[-1], right.shape[-2:][0]))
    if not here.equal(inner, other):
        raise UnsupportedError("shapes that do not fit together for @")
    batch = broadcast([left.shape[:-2], right.shape[:-2]], here)
    left = broadcast_to(left, (*batch, *rows, inner), here)
    right = broadcast_to(right, (*batch, inner, *columns), here)
    zero = affine_constant(space, 0)
    sides = (left.at([zero] * left.rank, space), right.at([zero] * right.rank, space))
    found = kind_of(binary("mul", *sides)) if _is_complex(sides) else common_type(*sides)
    kind = found.computed
    if kind == BOOL:
        raise UnsupportedError("a product of matrices of truth values")
    statements = read.statements
    placed = statements.temp(kind, (*batch, *rows, *columns), node)
    statements.store(placed, as_element(kind, Number(0)), node, first=True)
    with statements.loops((*placed.shape, inner)) as (index, deeper):
        *place, k = index
        outer, row = place[: len(batch)], place[len(batch) :][: len(rows)]
        column = place[len(batch) + len(rows) :]
        product = binary(
            "mul",
            as_element(kind, left.at((*outer, *row, k), deeper)),
            as_element(kind, right.at((*outer, k, *column), deeper)),
        )
        statements.emit(placed, place, binary("add", placed.at(place, deeper), product), node)
    if not found.is_half or found == widened:
        return placed
    return Computed(placed.shape, lambda index, space: as_element(found, placed.at(index, space)))


def _is_complex(values: Sequence[Value]) -> bool:
    return any(isinstance(value, Compound) for value in values)


def _vdot(call: Call) -> Any:  # noqa: ANN401
    one, other = call.array("a"), call.array("b")
    if one.rank != 1 or other.rank != 1:
        raise UnsupportedError("np.vdot of arrays of several dimensions", hint="use .ravel()")
    one = call.read.elementwise(conjugate, [one], call.node)
    return _product(call.read, one, other, call.node)


def _dot(call: Call) -> Any:  # noqa: ANN401
    one, other = call.numeric("a"), call.numeric("b")
    if not isinstance(one, Grid) or not isinstance(other, Grid):
        return call.read.elementwise(partial(binary, "mul"), [one, other], call.node)
    if one.rank > 2 or other.rank > 2:
        raise UnsupportedError("np.dot of arrays of more than two dimensions", hint="use @")
    return _product(call.read, one, other, call.node)


def _matmul(call: Call) -> Any:  # noqa: ANN401
    return matmul(call.read, call.numeric("a"), call.numeric("b"), call.node)


def _inner(call: Call) -> Any:  # noqa: ANN401
    one, other = call.array("a"), call.array("b")
    if other.rank == 2:
        other = call.read.transposed(other, (1, 0))
    return _product(call.read, one, other, call.node)


def _outer(call: Call) -> Any:  # noqa: ANN401
    one, other = call.array("a"), call.array("b")
    if one.rank != 1 or other.rank != 1:
        raise UnsupportedError("np.outer of arrays of several dimensions")
    sides = [_with_axis(call.read, one, 1), _with_axis(call.read, other, 0)]
    return call.read.elementwise(partial(binary, "mul"), sides, call.node)


#: functions, the names of their arguments, and what reads them
FUNCTIONS: Mapping[object, tuple[str, Handler]] = {
    np.dot: ("a b", _dot),
    np.vdot: ("a b", _vdot),
    np.matmul: ("a b", _matmul),
    np.inner: ("a b", _inner),
    np.outer: ("a b", _outer),
}
#: methods, the names of their arguments after the array, and what reads them
METHODS: Mapping[str, tuple[str, Handler]] = {"dot": ("b", _dot)}
