"""Elementary functions that are made of others, right for small operands as well.

``log(1 + x)`` and ``exp(x) - 1`` of a small ``x`` lose what rounding takes from ``1 + x``; the
error is put right by a quotient of two numbers with that error (W. Kahan, in HP-15C Advanced
Functions Handbook, 1982).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.operators import Result, normal_axis, operator
from polyopt.ir.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.frontend.stages import Term
    from polyopt.graph.ir.graph import Value
    from polyopt.graph.operators import Maker, Tensor


def _float_rule(x: Value) -> Result:
    if not x.dtype.is_float:
        raise GraphError(f"a floating-point operand is needed, not {x.dtype}")
    return Result(x.shape, x.dtype)


def _of_one(name: str, function: Callable[[Term], Term]) -> None:
    def build(make: Maker, x: Tensor) -> Tensor:
        return make.stage(x.shape, lambda *i: function(x[i]))

    operator(name, result=_float_rule)(build)


def log1p(x: Term) -> Term:
    """``log(1 + x)``."""
    raised = 1.0 + x
    return po.select(raised == 1.0, x, po.log(raised) * x / (raised - 1.0))


def expm1(x: Term) -> Term:
    """``exp(x) - 1``."""
    raised = po.exp(x)
    exact = (raised - 1.0) * x / po.log(raised)
    # where nothing is left of 1, or x has gone, or there is no logarithm, it is what it seems
    return po.select(raised == 1.0, x, po.select((x < -0.5) | (x > 0.5), raised - 1.0, exact))


_of_one("log1p", log1p)
_of_one("expm1", expm1)
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
    d = normal_axis(axis, x.rank)
    rest = (*x.shape[:d], *x.shape[d + 1 :])
    run = make.steps(x.shape[d])
    total = run.state(rest, lambda *_: po.cast(x.dtype.computed.name, 0), "total")

    def added(t: Term, *i: Term) -> Term:
        return total[(t, *i)] + x[(*i[:d], t, *i[d:])]

    run.next(total, added)
    return make.stage(x.shape, lambda *i: total[(i[d] + 1, *i[:d], *i[d + 1 :])])
