"""Elementary functions, running sums and remainders, element by element."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

import numpy as np

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.ir.graph import Value
from polyopt.graph.operators import Result, broadcast, broadcast_index, normal_axis, operator
from polyopt.graph.ops.elements.pointwise import floor_quotient
from polyopt.ir.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.frontend.stages import Term
    from polyopt.graph.operators import Maker, Tensor


def _float_rule(x: Value) -> Result:
    if not x.dtype.is_float:
        raise GraphError(f"a floating-point operand is needed, not {x.dtype}")
    return Result(x.shape, x.dtype)


def _of_one(name: str, function: Callable[[Term], Term]) -> None:
    def build(make: Maker, x: Tensor) -> Tensor:
        return make.stage(x.shape, lambda *i: function(x[i]))

    operator(name, result=_float_rule)(build)


_of_one("log1p", np.log1p)
_of_one("expm1", np.expm1)
_of_one("exp2", po.exp2)
_of_one("log2", po.log2)
_of_one("tan", po.tan)
_of_one("trunc", po.trunc)
_of_one("rint", po.rint)


def _truth_rule(x: Value) -> Result:
    return Result(x.shape, BOOL)


@operator("is_nan", result=_truth_rule)
def is_nan(make: Maker, x: Tensor) -> Tensor:
    """Whether an element is no number."""
    return make.stage(x.shape, lambda *i: x[i] != x[i])


@operator("sign")
def sign(make: Maker, x: Tensor) -> Tensor:
    """-1, 0 or 1; NaN is 0."""
    kind = x.dtype.computed.name

    def element(*i: Term) -> Term:
        return po.cast(kind, po.select(x[i] > 0, 1, po.select(x[i] < 0, -1, 0)))

    return make.stage(x.shape, element)


def _scan_rule(x: Value, *, axis: int) -> Result:
    normal_axis(axis, len(x.shape))
    return Result(x.shape, x.dtype)


@operator("cumsum", result=_scan_rule)
def cumsum(make: Maker, x: Tensor, *, axis: int) -> Tensor:
    """Sums of all elements along an axis up to each, that one included (prefix sum)."""
    return _scanned(make, x, axis, 0, lambda total, value: total + value)


@operator("cumprod", result=_scan_rule)
def cumprod(make: Maker, x: Tensor, *, axis: int) -> Tensor:
    """Products of all elements along an axis up to each, that one included."""
    return _scanned(make, x, axis, 1, lambda total, value: total * value)


def _scanned(
    make: Maker, x: Tensor, axis: int, start: int, join: Callable[[Term, Term], Term]
) -> Tensor:
    """What all elements along an axis up to each are joined to."""
    d = normal_axis(axis, x.rank)
    rest = (*x.shape[:d], *x.shape[d + 1 :])
    run = make.steps(x.shape[d])
    total = run.state(rest, lambda *_: po.cast(x.dtype.computed.name, start), "total")

    def joined(t: Term, *i: Term) -> Term:
        return join(total[(t, *i)], x[(*i[:d], t, *i[d:])])

    run.next(total, joined)
    return make.stage(x.shape, lambda *i: total[(i[d] + 1, *i[:d], *i[d + 1 :])])


_of_one("log10", lambda x: po.log(x) * (1.0 / log(10.0)))


# -- remainders ---------------------------------------------------------------------------------


def _pair_rule(a: Value, b: Value) -> Result:
    if a.dtype != b.dtype:
        raise GraphError(f"operands of one type are needed, not {a.dtype} and {b.dtype}")
    return Result(broadcast(a, b), a.dtype)


def _of_two(
    name: str,
    function: Callable[[Term, Term, bool], Term],
    rule: Callable[[Value, Value], Result] = _pair_rule,
) -> None:
    def build(make: Maker, a: Tensor, b: Tensor) -> Tensor:
        def element(*i: Term) -> Term:
            one, two = a[broadcast_index(a, i)], b[broadcast_index(b, i)]
            return function(one, two, make.dtype.is_float)

        shape = broadcast(*(Value("", t.shape, t.dtype) for t in (a, b)))
        return make.stage(shape, element)

    operator(name, result=rule)(build)


def _remainder(a: Term, b: Term, is_float: bool) -> Term:  # noqa: FBT001  (of a table)
    """Of the divisor's sign, as Python's ``%``; a zero has it, too."""
    if not is_float:
        return a - floor_quotient(a, b) * b
    rest = po.fmod(a, b)
    zero = po.select(b < 0.0, -0.0, 0.0)
    moved = po.select((b < 0.0) != (rest < 0.0), rest + b, rest)
    return po.select(rest == 0.0, zero, moved)


def _fmod(a: Term, b: Term, is_float: bool) -> Term:  # noqa: FBT001  (of a table)
    """Of the dividend's sign, as C's."""
    if is_float:
        return po.fmod(a, b)
    down = floor_quotient(a, b)
    return a - po.select((down * b != a) & (down < 0), down + 1, down) * b


def _floor_divide(a: Term, b: Term, is_float: bool) -> Term:  # noqa: FBT001  (of a table)
    """The quotient rounded down, by the exact remainder, as Python's ``//``."""
    if not is_float:
        return floor_quotient(a, b)
    rest = po.fmod(a, b)
    low = po.select((rest != 0.0) & ((b < 0.0) != (rest < 0.0)), 1.0, 0.0)
    return po.select(b == 0.0, a / b, po.rint((a - rest) / b - low))


_of_two("remainder", _remainder)
_of_two("fmod", _fmod)
_of_two("floor_divide", _floor_divide)


def _float_pair_rule(a: Value, b: Value) -> Result:
    _float_rule(a)
    return _pair_rule(a, b)


_of_two("atan2", lambda a, b, _: po.atan2(a, b), _float_pair_rule)
