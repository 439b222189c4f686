"""Reductions over axes of arrays: sums, means, extremes, and where they are."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import TypeMismatchError, UnsupportedError
from polyopt.frontend.arrays.functions.elementary import maximum, minimum
from polyopt.frontend.arrays.grid import (
    Along,
    Computed,
    Fixed,
    Grid,
    Pair,
    Placed,
    lifted,
    reindexed,
    strong,
)
from polyopt.frontend.complex_values import as_element, kind_of
from polyopt.frontend.functions import absolute, float_call
from polyopt.frontend.loops.scope import Known
from polyopt.frontend.values import (
    Form,
    Number,
    Strong,
    Value,
    Weak,
    binary,
    both,
    compare,
    either,
    select,
    single,
    truth,
    type_of,
    typed,
)
from polyopt.ir.expr import index_of
from polyopt.ir.types import BF16, BOOL, C64, C128, F32, F64, I64, U64, ScalarType
from polyopt.isl import affine_constant, lift_form

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.frontend.arrays.functions.calls import Call, Handler


def python_type(value: Value) -> ScalarType:
    """The type of the Python number that a NumPy scalar becomes."""
    kind = type_of(value)
    if kind == BOOL:
        return BOOL
    return F64 if kind.is_float else I64


def sum_type(kind: ScalarType) -> ScalarType:
    """The type in which NumPy adds up: integers at least as wide as ``int64``."""
    if kind.is_float or kind.is_complex:
        return kind
    return U64 if kind.kind == "uint" else I64


class Reduction:
    """One reduction: an array over some of its axes, whose results are stored."""

    def __init__(self, call: Call, grid: Grid, axes: Sequence[int]) -> None:
        self.call = call
        self.read = call.read
        self.statements = call.read.statements
        self.grid = grid
        self.axes = tuple(sorted(axes))
        self.kept = [k for k in range(grid.rank) if k not in self.axes]

    def first(self) -> Grid | Value:
        """The first elements along the axes."""
        space = self.read.scope.space
        zero = affine_constant(space, 0)
        for k in self.axes:
            if not self.read.here.always(lift_form(self.grid.shape[k], space).gt_set(zero)):
                raise UnsupportedError("the extreme of an array that is empty in some iterations")
        picks = [
            Along(self.kept.index(k), zero, 1) if k in self.kept else Fixed(index_of(zero))
            for k in range(self.grid.rank)
        ]
        found = reindexed(self.grid, picks, [self.grid.shape[k] for k in self.kept], space)
        return found if self.kept else found.at((), space)

    def target(self, kind: ScalarType, start: Grid | Value) -> Placed | Pair:
        """Where results are stored, with what they are at first."""
        shape = [self.grid.shape[k] for k in self.kept]
        placed = self.statements.temp(kind, shape, self.call.node)
        self.statements.store(placed, start, self.call.node, first=True)
        return placed

    def fold(
        self, kind: ScalarType, start: Grid | Value, join: Callable[[Value, Value], Value]
    ) -> Placed | Pair:
        """``result = join(result, element)`` over all elements."""
        placed = self.target(kind, start)
        with self.statements.loops(self.grid.shape) as (index, space):
            place = [index[k] for k in self.kept]
            value = join(placed.at(place, space), self.grid.at(index, space))
            self.statements.emit(placed, place, value, self.call.node)
        return placed

    def result(self, placed: Grid) -> Grid | Value:
        """The results: a number, or an array, with axes of extent 1 where ``keepdims`` says so."""
        space = self.read.scope.space
        if self.call.flag("keepdims"):
            one, zero = affine_constant(space, 1), affine_constant(space, 0)
            shape = [one if k in self.axes else self.grid.shape[k] for k in range(self.grid.rank)]
            return reindexed(placed, [Along(k, zero, 1) for k in self.kept], shape, space)
        return placed if self.kept else placed.at((), space)


def _reduction(call: Call) -> Reduction | None:
    """The reduction that a call asks for; none of a number."""
    value = call.numeric("a")
    if not isinstance(value, Grid):
        return None
    return Reduction(call, value, call.axes("axis", value.rank))


def _sum(call: Call) -> Any:  # noqa: ANN401
    return _accumulated(call, "add", 0)


def _prod(call: Call) -> Any:  # noqa: ANN401
    return _accumulated(call, "mul", 1)


def _accumulated(call: Call, op: str, start: int) -> Any:  # noqa: ANN401
    found = _reduction(call)
    if found is None:
        number = strong(call.read.as_number(call.operand("a")))
        return as_element(call.type("dtype") or sum_type(kind_of(number)), number)
    kind = call.type("dtype") or sum_type(found.grid.type(call.read.scope.space))
    if kind == BOOL:
        raise UnsupportedError("a sum of type bool is not taken", hint="use .any() or .all()")
    return found.result(summed(found, kind, op, start))


def summed(found: Reduction, kind: ScalarType, op: str = "add", start: int = 0) -> Grid:
    """The sum (or product) of the elements, converted to a type before."""
    # single precision would lose what NumPy's order keeps
    wide = {F32: F64, C64: C128}.get(kind.computed, kind)
    zero = as_element(wide, Number(start))
    placed = found.fold(wide, zero, lambda a, b: binary(op, a, as_element(wide, _as_kind(kind, b))))
    return Computed(placed.shape, lambda index, space: as_element(kind, placed.at(index, space)))


def _as_kind(kind: ScalarType, value: Value) -> Value:
    """The value in a type; of a half, the f32 that it would be rounded from."""
    return Strong(single(value, kind)) if kind.is_half else as_element(kind, value)


def _mean(call: Call) -> Any:  # noqa: ANN401
    found = _reduction(call)
    if found is None:
        raise UnsupportedError("the mean of a number")
    return _averaged(call, found)


def _averaged(call: Call, found: Reduction) -> Grid | Value:
    kind = _mean_type(call, found.grid)
    total = found.result(summed(found, kind.computed))
    mean = call.read.elementwise(partial(binary, "truediv"), [total, _count(found)], call.node)
    return _rounded(call, kind, mean)


def _rounded(call: Call, kind: ScalarType, value: Grid | Value) -> Grid | Value:
    """What was computed in single precision, as the half that NumPy gives."""
    if not kind.is_half:
        return value
    return call.read.elementwise(partial(as_element, kind), [value], call.node)


def _count(found: Reduction, less: int = 0) -> Value:
    number = found.read.count([found.grid.shape[k] for k in found.axes])
    return binary("sub", number, Number(less)) if less else number


def _mean_type(call: Call, grid: Grid) -> ScalarType:
    kind = call.type("dtype") or grid.type(call.read.scope.space)
    return kind if kind.is_float or kind.is_complex else F64


def _var(call: Call) -> Any:  # noqa: ANN401
    found = _reduction(call)
    if found is None:
        raise UnsupportedError("the variance of a number")
    read, space = call.read, call.read.scope.space
    grid = found.grid
    asked = _mean_type(call, grid)
    if asked.is_complex:
        raise UnsupportedError(
            "the variance of complex numbers", hint="np.mean(np.abs(a - a.mean()) ** 2)"
        )
    kind = asked.computed
    total = summed(found, kind)
    mean = read.elementwise(
        partial(binary, "truediv"),
        [total if found.kept else total.at((), space), _count(found)], call.node,
    )  # fmt: skip
    if isinstance(mean, Grid):
        mean = call.read.statements.materialise(mean, call.node)
        one, zero = affine_constant(space, 1), affine_constant(space, 0)
        shape = [one if k in found.axes else grid.shape[k] for k in range(grid.rank)]
        mean = reindexed(mean, [Along(k, zero, 1) for k in found.kept], shape, space)
    else:
        mean = call.read.statements.stored(mean, call.node)

    def squared(x: Value, m: Value) -> Value:
        gap = binary("sub", as_element(kind, x), m)
        return binary("mul", gap, gap)

    squares = read.elementwise(squared, [grid, mean], call.node)
    assert isinstance(squares, Grid)
    again = Reduction(call, squares, found.axes)
    less = call.integer("ddof", 0)
    found_variance = read.elementwise(
        partial(binary, "truediv"),
        [again.result(summed(again, kind)), _count(found, less)], call.node,
    )  # fmt: skip
    return _rounded(call, asked, found_variance)


def _std(call: Call) -> Any:  # noqa: ANN401
    return call.read.elementwise(_root, [_var(call)], call.node)


def _root(x: Value) -> Value:
    return float_call("sqrt", [x])


def _extreme(call: Call, join: Callable[[Value, Value], Value]) -> Any:  # noqa: ANN401
    found = _reduction(call)
    if found is None:
        return strong(call.read.as_number(call.operand("a")))
    kind = found.grid.type(call.read.scope.space)
    return found.result(found.fold(kind, found.first(), join))


def _max(call: Call) -> Any:  # noqa: ANN401
    return _extreme(call, maximum)


def _min(call: Call) -> Any:  # noqa: ANN401
    return _extreme(call, minimum)


def _ptp(call: Call) -> Any:  # noqa: ANN401
    return call.read.elementwise(partial(binary, "sub"), [_max(call), _min(call)], call.node)


def _truths(call: Call, start: bool, join: Callable[[Value, Value], Value]) -> Any:  # noqa: ANN401, FBT001
    found = _reduction(call)
    if found is None:
        return strong(truth(call.read.as_number(call.operand("a"))))
    first = Strong(typed(Number(start), BOOL))
    return found.result(found.fold(BOOL, first, lambda a, b: join(a, truth(b))))


def _any(call: Call) -> Any:  # noqa: ANN401
    return _truths(call, False, either)


def _all(call: Call) -> Any:  # noqa: ANN401
    return _truths(call, True, both)


def _count_nonzero(call: Call) -> Any:  # noqa: ANN401
    found = _reduction(call)
    if found is None:
        raise UnsupportedError("np.count_nonzero of a number")
    one = Strong(typed(Number(0), I64))
    placed = found.fold(I64, one, lambda a, b: binary("add", a, as_element(I64, truth(b))))
    result = found.result(placed)
    if isinstance(result, Grid) or not _COUNTS_ARE_PYTHON:
        return result
    return Weak(typed(result, I64))


def _arg_extreme(call: Call, better: str) -> Any:  # noqa: ANN401
    grid = call.array("a")
    axes = call.axes("axis", grid.rank)
    if len(axes) != 1:
        raise UnsupportedError(
            "the position in an array of several dimensions", hint="give an axis"
        )
    found = Reduction(call, grid, axes)
    kind = grid.type(call.read.scope.space)
    best = found.target(kind, found.first())
    where = found.target(I64, Strong(typed(Number(0), I64)))
    with found.statements.loops(grid.shape) as (index, space):
        place = [index[k] for k in found.kept]
        value, old = grid.at(index, space), best.at(place, space)
        test = compare(better, value, old)
        if kind.is_float:
            test = either(test, both(compare("ne", value, value), compare("eq", old, old)))
        at = select(test, Strong(typed(Form(index[axes[0]]), I64)), where.at(place, space))
        found.statements.emit(where, place, at, call.node)
        found.statements.emit(best, place, select(test, value, old), call.node)
    return found.result(where)


def _argmax(call: Call) -> Any:  # noqa: ANN401
    return _arg_extreme(call, "gt")


def _argmin(call: Call) -> Any:  # noqa: ANN401
    return _arg_extreme(call, "lt")


def _cumsum(call: Call) -> Grid:
    return _running(call, "add")


def _cumprod(call: Call) -> Grid:
    return _running(call, "mul")


def _running(call: Call, operation: str) -> Grid:
    grid = call.array("a")
    axes = call.axes("axis", grid.rank)
    if len(axes) != 1:
        raise UnsupportedError("a running result over several axes", hint="give an axis")
    read, axis = call.read, axes[0]
    kind = call.type("dtype") or sum_type(grid.type(read.scope.space))
    placed = read.statements.temp(kind, grid.shape, call.node)

    def only(extents: Sequence[Any], extent: int) -> list[Any]:
        space = read.scope.space
        changed = [lift_form(e, space) for e in extents]
        changed[axis] = affine_constant(space, extent)
        return changed

    with read.statements.loops(only(grid.shape, 1)) as (index, space):
        read.statements.emit(placed, index, as_element(kind, grid.at(index, space)), call.node)
    firsts = [int(k == axis) for k in range(grid.rank)]
    with read.statements.loops(grid.shape, firsts) as (index, space):
        before = list(index)
        before[axis] = index[axis].sub(affine_constant(space, 1))
        value = binary(operation, placed.at(before, space), as_element(kind, grid.at(index, space)))
        read.statements.emit(placed, index, value, call.node)
    return placed


def _norm(call: Call) -> Any:  # noqa: ANN401
    grid = call.array("x")
    kind = grid.type(call.read.scope.space)
    asked = kind if kind.is_float and kind != BF16 else F64
    axes = call.axes("axis", grid.rank)
    order = _order(call, len(axes))
    if order == math.inf:
        sizes = call.read.elementwise(absolute, [_floats(call, asked, grid)], call.node)
        assert isinstance(sizes, Grid)
        found = Reduction(call, sizes, axes)
        return found.result(found.fold(asked, found.first(), maximum))
    kind = asked.computed

    def term(x: Value) -> Value:
        number = as_element(kind, x)
        return absolute(number) if order == 1 else binary("mul", number, number)

    terms = call.read.elementwise(term, [grid], call.node)
    assert isinstance(terms, Grid)
    found = Reduction(call, terms, axes)
    total = found.result(summed(found, kind))
    norm = total if order == 1 else call.read.elementwise(_root, [total], call.node)
    return _rounded(call, asked, norm)


def _floats(call: Call, kind: ScalarType, grid: Grid) -> Grid | Value:
    return call.read.elementwise(partial(as_element, kind), [grid], call.node)


def _order(call: Call, count: int) -> float:
    """Which norm, of vectors along so many axes: 1, 2 or the largest one."""
    if not call.has("ord"):
        return 2
    value = call.operand("ord")
    known = value.value if isinstance(value, Number) else None
    if count != 1 or known not in {1, 2, math.inf}:
        raise UnsupportedError(
            "this norm is not taken", hint="taken are those of vectors with ord 1, 2 or np.inf"
        )
    return float(known)


def _python_sum(call: Call) -> Any:  # noqa: ANN401
    from polyopt.frontend.arrays.operands import Items

    found = call.operand("a")
    if isinstance(found, Items):
        start = call.numeric("start") if call.has("start") else Number(0)
        return _folded(call, partial(binary, "add"), [start, *found.items])
    if call.has("start"):
        raise UnsupportedError("Python's sum of an array with a start", hint="use np.sum")
    grid = call.array("a")
    if grid.rank != 1:
        raise UnsupportedError("Python's sum of an array of several dimensions", hint="use np.sum")
    kind = grid.type(call.read.scope.space)
    found = Reduction(call, grid, (0,))
    if kind.is_integer or kind == BOOL:
        raise TypeMismatchError("Python's sum of integers", hint="use np.sum")
    return summed(found, kind).at((), call.read.scope.space)


def _folded(call: Call, combine: Callable[..., Value], items: Sequence[Any]) -> Any:  # noqa: ANN401
    """Items one after another, as Python goes through a sequence."""
    result = call.read.numeric(items[0])
    for item in items[1:]:
        result = call.read.elementwise(combine, [result, call.read.numeric(item)], call.node)
    return result


def _add_at(call: Call) -> Known:
    """``np.add.at(a, key, value)``: each occurrence counts."""
    from polyopt.frontend.loops.scope import View
    from polyopt.ir import build

    target, key, value = call.operand("a"), call.array("indices"), call.numeric("b")
    if not isinstance(target, Placed) or target.rank != 1:
        raise UnsupportedError("np.add.at of an array of several dimensions")
    if isinstance(value, Grid):
        from polyopt.frontend.arrays.slices import broadcast_to

        value = broadcast_to(value, key.shape, call.read.here)
    statements = call.read.statements
    with statements.loops(key.shape) as (index, space):
        at = Fixed(build.cast(I64, typed(key.at(index, space), I64)))
        place = reindexed(target, [at], (), space)
        assert isinstance(place, Placed)
        view = View(place.array, place.place((), space), call.read.span(call.node))
        new = value.at(index, space) if isinstance(value, Grid) else lifted(value, space)
        changed = binary("add", call.read.as_number(view), new)
        statements.put(view, changed, call.node, call.node)
    return Known(None)


#: whether this NumPy counts in Python's integers
_COUNTS_ARE_PYTHON = not isinstance(np.count_nonzero(np.ones(1)), np.generic)
_MOST = "a axis dtype keepdims"
#: functions, the names of their arguments, and what reads them
FUNCTIONS: Mapping[object, tuple[str, Handler]] = {
    np.sum: (_MOST, _sum),
    np.prod: (_MOST, _prod),
    np.mean: (_MOST, _mean),
    np.var: ("a axis dtype ddof keepdims", _var),
    np.std: ("a axis dtype ddof keepdims", _std),
    np.max: ("a axis keepdims", _max),
    np.min: ("a axis keepdims", _min),
    np.any: ("a axis keepdims", _any),
    np.all: ("a axis keepdims", _all),
    np.count_nonzero: ("a axis keepdims", _count_nonzero),
    np.argmax: ("a axis keepdims", _argmax),
    np.argmin: ("a axis keepdims", _argmin),
    np.cumsum: ("a axis dtype", _cumsum),
    np.cumprod: ("a axis dtype", _cumprod),
    np.ptp: ("a axis keepdims", _ptp),
    np.average: ("a axis keepdims", _mean),
    np.linalg.norm: ("x ord axis keepdims", _norm),
    np.add.at: ("a indices b", _add_at),
    sum: ("a start", _python_sum),
}
#: methods, the names of their arguments after the array, and what reads them
METHODS: Mapping[str, tuple[str, Handler]] = {
    "sum": ("axis dtype keepdims", _sum),
    "prod": ("axis dtype keepdims", _prod),
    "mean": ("axis dtype keepdims", _mean),
    "var": ("axis dtype ddof keepdims", _var),
    "std": ("axis dtype ddof keepdims", _std),
    "max": ("axis keepdims", _max),
    "min": ("axis keepdims", _min),
    "any": ("axis keepdims", _any),
    "all": ("axis keepdims", _all),
    "argmax": ("axis keepdims", _argmax),
    "argmin": ("axis keepdims", _argmin),
    "cumsum": ("axis dtype", _cumsum),
    "cumprod": ("axis dtype", _cumprod),
}
