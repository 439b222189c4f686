"""New arrays: ``np.zeros``, ``np.full``, ``np.arange``, ``np.linspace``, ``np.eye``."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import UnsupportedError
from polyopt.frontend.arrays.grid import Computed, Grid, Unfilled, lifted, strong
from polyopt.frontend.complex_values import as_element, kind_of
from polyopt.frontend.loops.scope import Shape
from polyopt.frontend.values import (
    Form,
    Number,
    Strong,
    Value,
    Where,
    binary,
    need_form,
    select,
    type_of,
    typed,
)
from polyopt.ir.types import F64, I64, promote_numpy
from polyopt.isl import affine_constant, lift_form

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.frontend.arrays.functions.calls import Call, Handler
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff, Set, Space


def _shape(call: Call) -> tuple[PwAff, ...]:
    from polyopt.frontend.arrays.operands import Items

    operand = call.operand("shape")
    if isinstance(operand, Shape):
        return tuple(size.form for size in operand.sizes)
    items = operand.items if isinstance(operand, Items) else (operand,)
    return tuple(_extent(call, call.read.as_number(item)) for item in items)


def _extent(call: Call, value: Value) -> PwAff:
    form = need_form(value, call.read.scope.space, "the extent of an array")
    if not call.read.here.always(form.gt_set(affine_constant(call.read.scope.space, 0))):
        raise UnsupportedError("an array without elements", hint="call plain Python for such sizes")
    return form


def _constant(shape: Sequence[PwAff], value: Value, kind: ScalarType) -> Computed:
    converted = as_element(kind, value)
    return Computed(tuple(shape), lambda _, space: strong(lifted(converted, space)))


def _filled(value: int | None) -> Handler:
    def make(call: Call) -> Grid:
        kind, shape = call.type("dtype") or F64, _shape(call)
        return Unfilled(shape, kind) if value is None else _constant(shape, Number(value), kind)

    return make


def _filled_like(value: int | None) -> Handler:
    def make(call: Call) -> Grid:
        like = call.array("a")
        kind = call.type("dtype") or like.type(call.read.scope.space)
        if value is None:
            return Unfilled(like.shape, kind)
        return _constant(like.shape, Number(value), kind)

    return make


def _full(call: Call) -> Grid:
    value = call.read.as_number(call.operand("fill_value"))
    return _constant(_shape(call), value, call.type("dtype") or kind_of(value))


def _full_like(call: Call) -> Grid:
    like, value = call.array("a"), call.read.as_number(call.operand("fill_value"))
    return _constant(like.shape, value, call.type("dtype") or like.type(call.read.scope.space))


def _arange(call: Call) -> Grid:
    ends = [call.read.as_number(call.operand(n)) for n in ("start", "stop") if call.has(n)]
    start, stop = (Number(0), ends[0]) if len(ends) == 1 else ends
    step = call.integer("step", 1)
    if step < 1 or not all(type_of(end).is_integer for end in (start, stop)):
        raise UnsupportedError(
            "np.arange of floats, or backwards", hint="write a + h * np.arange(n)"
        )
    space = call.read.scope.space
    first = need_form(start, space, "the start of np.arange")
    gap = _extent(call, binary("sub", stop, start))
    by, one = affine_constant(space, step), affine_constant(space, 1)
    count = gap if step == 1 else gap.add(by).sub(one).div(by).floor()
    kind = call.type("dtype") or I64

    def element(index: Sequence[PwAff], space: Space) -> Value:
        scaled = index[0].mul(affine_constant(space, step)).add(lift_form(first, space))
        return strong(as_element(kind, Form(scaled)) if kind != I64 else Form(scaled))

    return Computed((count,), element)


def _linspace(call: Call) -> Grid:
    start, stop = (call.read.as_number(call.operand(n)) for n in ("start", "stop"))
    space = call.read.scope.space
    number = call.read.as_number(call.operand("num")) if call.has("num") else Number(50)
    count = _extent(call, number)
    one = affine_constant(space, 1)
    if not call.read.here.always(count.gt_set(one)):
        raise UnsupportedError("np.linspace of one number")
    low, high = (Strong(typed(end, F64)) for end in (start, stop))
    step = binary("truediv", binary("sub", high, low), Form(count.sub(one)))

    def element(index: Sequence[PwAff], space: Space) -> Value:
        last = Where(index[0].eq_set(lift_form(count, space).sub(affine_constant(space, 1))))
        a, b, h = (lifted(v, space) for v in (low, high, step))
        return select(last, b, binary("add", binary("mul", Form(index[0]), h), a))

    return Computed((count,), element)


def _eye(call: Call) -> Grid:
    space = call.read.scope.space
    rows = _extent(call, call.read.as_number(call.operand("N")))
    columns = rows
    if call.has("M"):
        columns = _extent(call, call.read.as_number(call.operand("M")))
    kind, offset = call.type("dtype") or F64, call.integer("k", 0)
    one, zero = (Strong(typed(Number(n), kind)) for n in (1, 0))

    def element(index: Sequence[PwAff], space: Space) -> Value:
        diagonal = index[0].add(affine_constant(space, offset))
        return select(Where(index[1].eq_set(diagonal)), one, zero)

    del space
    return Computed((rows, columns), element)


def _triangle(keeps: Callable[[PwAff, PwAff], Set]) -> Handler:
    def make(call: Call) -> Grid:
        grid, offset = call.array("m"), call.integer("k", 0)
        if grid.rank != 2:
            raise UnsupportedError("a triangle of an array that is no matrix")
        zero = Strong(typed(Number(0), grid.type(call.read.scope.space)))

        def element(index: Sequence[PwAff], space: Space) -> Value:
            diagonal = index[0].add(affine_constant(space, offset))
            return select(Where(keeps(index[1], diagonal)), grid.at(index, space), zero)

        return Computed(grid.shape, element)

    return make


def _array(call: Call) -> Any:  # noqa: ANN401
    from polyopt.frontend.arrays.operands import Items

    found = call.operand("object")
    if isinstance(found, Grid):
        kind = call.type("dtype") or found.type(call.read.scope.space)
        return Computed(found.shape, lambda i, space: as_element(kind, found.at(i, space)))
    shape = _shape_of(found)
    if not shape:
        hint = "of lists of numbers, each as long as the others, it is taken"
        raise UnsupportedError("np.array of this", hint=hint)
    items = [found]
    for _ in shape:
        items = [inner for item in items if isinstance(item, Items) for inner in item.items]
    return _listed(call, [call.read.as_number(item) for item in items], shape)


def _shape_of(found: object) -> tuple[int, ...]:
    """The lengths of lists in lists; none where they are not all as long, or empty."""
    from polyopt.frontend.arrays.operands import Items

    if not isinstance(found, Items) or not found.items:
        return ()
    inner = {_shape_of(item) for item in found.items}
    if len(inner) > 1 or ((nested := isinstance(found.items[0], Items)) and inner == {()}):
        return ()
    kinds = {isinstance(item, Items) for item in found.items}
    return (len(found.items), *(inner.pop() if nested else ())) if len(kinds) == 1 else ()


def _asarray(call: Call) -> Any:  # noqa: ANN401
    found, kind = call.operand("object"), call.type("dtype")
    if isinstance(found, Grid) and kind in {None, found.type(call.read.scope.space)}:
        return found
    return _array(call)


def _listed(call: Call, values: Sequence[Value], shape: tuple[int, ...]) -> Grid:
    """``np.array([a, b, c])``, or of lists in lists: the values in C order."""
    kind = call.type("dtype")
    if kind is None:
        kind = reduce(promote_numpy, [type_of(value) for value in values])
    statements, space = call.read.statements, call.read.scope.space
    placed = statements.temp(kind, [affine_constant(space, n) for n in shape], call.node)
    for position, value in zip(np.ndindex(shape), values, strict=True):
        at = [affine_constant(space, k) for k in position]
        statements.emit(placed, at, as_element(kind, value), call.node)
    return placed


#: functions, the names of their arguments, and what reads them
FUNCTIONS: Mapping[object, tuple[str, Handler]] = {
    np.empty: ("shape dtype", _filled(None)),
    np.zeros: ("shape dtype", _filled(0)),
    np.ones: ("shape dtype", _filled(1)),
    np.full: ("shape fill_value dtype", _full),
    np.empty_like: ("a dtype", _filled_like(None)),
    np.zeros_like: ("a dtype", _filled_like(0)),
    np.ones_like: ("a dtype", _filled_like(1)),
    np.full_like: ("a fill_value dtype", _full_like),
    np.arange: ("start stop step dtype", _arange),
    np.linspace: ("start stop num", _linspace),
    np.eye: ("N M k dtype", _eye),
    np.identity: ("N dtype", _eye),
    np.tril: ("m k", _triangle(lambda column, diagonal: column.le_set(diagonal))),
    np.triu: ("m k", _triangle(lambda column, diagonal: column.ge_set(diagonal))),
    np.array: ("object dtype", _array),
    np.asarray: ("object dtype", _asarray),
}
