"""Comparisons, logic, and choices between elements, broadcast as NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.ir.graph import Value
from polyopt.graph.operators import Result, broadcast, broadcast_index, operator
from polyopt.ir.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.frontend.stages import Term
    from polyopt.graph.operators import Maker, Tensor


def _comparison_rule(a: Value, b: Value) -> Result:
    if a.dtype != b.dtype:
        raise GraphError(f"operands of one type are needed, not {a.dtype} and {b.dtype}")
    return Result(broadcast(a, b), BOOL)


def _logic_rule(a: Value, b: Value) -> Result:
    for each in (a, b):
        _need_bool(each)
    return Result(broadcast(a, b), BOOL)


def _need_bool(value: Value) -> None:
    if value.dtype != BOOL:
        raise GraphError(f"conditions are bool, not {value.dtype}")


def _shape(*tensors: Tensor) -> tuple[int, ...]:
    return broadcast(*(Value("", t.shape, t.dtype) for t in tensors))


def _binary(name: str, function: Callable[[Any, Any], Any], rule: Callable[..., Result]) -> None:
    def build(make: Maker, a: Tensor, b: Tensor) -> Tensor:
        def element(*i: Term) -> Term:
            return function(a[broadcast_index(a, i)], b[broadcast_index(b, i)])

        return make.stage(_shape(a, b), element)

    operator(name, result=rule)(build)


_binary("equal", lambda a, b: a == b, _comparison_rule)
_binary("less", lambda a, b: a < b, _comparison_rule)
_binary("less_equal", lambda a, b: a <= b, _comparison_rule)
_binary("greater", lambda a, b: a > b, _comparison_rule)
_binary("greater_equal", lambda a, b: a >= b, _comparison_rule)
_binary("logical_and", lambda a, b: a & b, _logic_rule)
_binary("logical_or", lambda a, b: a | b, _logic_rule)
_binary("logical_xor", lambda a, b: a != b, _logic_rule)


def _not_rule(x: Value) -> Result:
    _need_bool(x)
    return Result(x.shape, BOOL)


@operator("logical_not", result=_not_rule)
def logical_not(make: Maker, x: Tensor) -> Tensor:
    """Whether a condition does not hold."""
    return make.stage(x.shape, lambda *i: ~x[i])


def _where_rule(condition: Value, a: Value, b: Value) -> Result:
    _need_bool(condition)
    if a.dtype != b.dtype:
        raise GraphError(f"operands of one type are needed, not {a.dtype} and {b.dtype}")
    return Result(broadcast(condition, a, b), a.dtype)


@operator("where", result=_where_rule)
def where(make: Maker, condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """``a`` where the condition holds, else ``b``."""

    def element(*i: Term) -> Term:
        chosen, one, other = (t[broadcast_index(t, i)] for t in (condition, a, b))
        return po.select(chosen, one, other)

    return make.stage(_shape(condition, a, b), element)
