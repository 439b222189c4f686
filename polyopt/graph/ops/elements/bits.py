"""Operators on the bits of integers, and remainders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import GraphError
from polyopt.frontend import stages as po
from polyopt.graph.ir.graph import Value
from polyopt.graph.operators import Result, broadcast, broadcast_index, operator

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.frontend.stages import Term
    from polyopt.graph.operators import Maker, Tensor
    from polyopt.ir.types import ScalarType


def _need_integers(*values: Value) -> None:
    for value in values:
        if not value.dtype.is_integer:
            raise GraphError(f"integers are needed, not {value.dtype}")


def _alike(a: Value, b: Value) -> Result:
    if a.dtype != b.dtype:
        raise GraphError(f"operands of one type are needed, not {a.dtype} and {b.dtype}")
    return Result(broadcast(a, b), a.dtype)


def _integer_rule(a: Value, b: Value) -> Result:
    _need_integers(a, b)
    return _alike(a, b)


def _binary(name: str, function: Callable[[Any, Any], Any], rule: Callable[..., Result]) -> None:
    def build(make: Maker, a: Tensor, b: Tensor) -> Tensor:
        shape = broadcast(*(Value("", t.shape, t.dtype) for t in (a, b)))
        return make.stage(
            shape, lambda *i: function(a[broadcast_index(a, i)], b[broadcast_index(b, i)])
        )

    operator(name, result=rule)(build)


_binary("bitwise_and", lambda a, b: a & b, _integer_rule)
_binary("bitwise_or", lambda a, b: a | b, _integer_rule)
_binary("bitwise_xor", lambda a, b: a ^ b, _integer_rule)


def _shift(name: str, shifted: Callable[[Any, Any, ScalarType], Any]) -> None:
    def build(make: Maker, a: Tensor, b: Tensor) -> Tensor:
        kind = a.dtype
        shape = broadcast(*(Value("", t.shape, t.dtype) for t in (a, b)))

        def element(*i: Term) -> Term:
            given, count = a[broadcast_index(a, i)], b[broadcast_index(b, i)]
            met = shifted(given, po.clamp(count, 0, kind.bits - 1), kind)
            return po.select((count >= 0) & (count < kind.bits), met, _all_out(name, given, kind))

        return make.stage(shape, element)

    operator(name, result=_integer_rule)(build)


def _all_out(name: str, given: Term, kind: ScalarType) -> Term:
    """What is left where no bit is: the sign, to the right."""
    none = po.cast(kind.name, 0)
    if name == "shift_left" or not _is_signed(kind):
        return none
    return po.select(given < 0, po.cast(kind.name, -1), none)


def _is_signed(kind: ScalarType) -> bool:
    return np.issubdtype(np.dtype(kind.numpy_name), np.signedinteger)


def _to_left(given: Term, count: Term, kind: ScalarType) -> Term:
    # in C a signed number may not be shifted out of its sign
    bits = f"u{kind.bits}"
    return po.cast(kind.name, po.cast(bits, given) << po.cast(bits, count))


_shift("shift_left", _to_left)
_shift("shift_right", lambda a, b, kind: po.cast(kind.name, a >> b))


def _not_rule(x: Value) -> Result:
    _need_integers(x)
    return Result(x.shape, x.dtype)


@operator("bitwise_not", result=_not_rule)
def bitwise_not(make: Maker, x: Tensor) -> Tensor:
    """Each bit the other."""
    return make.stage(x.shape, lambda *i: po.cast(x.dtype.name, ~x[i]))
