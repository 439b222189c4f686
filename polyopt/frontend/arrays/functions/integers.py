"""Integer operations where C has no meaning and NumPy has one: divisors of zero, wide shifts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.frontend.values import (
    Number,
    Strong,
    Value,
    Weak,
    binary,
    common_type,
    compare,
    either,
    is_weak,
    negative,
    select,
    typed,
)
from polyopt.ir.types import BOOL

if TYPE_CHECKING:
    from polyopt.ir.types import ScalarType


def operation(op: str, one: Value, other: Value) -> Value:
    """``values.binary``, defined for all operands: by zero integers divide to 0, as NumPy has it,
    and what is shifted by more bits than there are is shifted out."""
    if op in {"floordiv", "mod"}:
        return _divided(op, one, other)
    if op in {"shl", "shr"}:
        return _shifted(op, one, other)
    return binary(op, one, other)


def _is_plain(one: Value, other: Value, low: int, high: int) -> bool:
    """Whether C's operation is NumPy's: known second operands, floats, truth values."""
    if isinstance(other, Number):
        return isinstance(one, Number) or low <= other.value < high
    kind = common_type(one, other)
    return kind.is_float or kind == BOOL


def _as(kind: ScalarType, value: Value, like: Value) -> Value:
    return (Weak if is_weak(value) and is_weak(like) else Strong)(typed(value, kind))


def _divided(op: str, one: Value, other: Value) -> Value:
    if _is_plain(one, other, 1, 1 << 64):
        return binary(op, one, other)
    kind = common_type(one, other)
    if kind.is_float:
        return binary(op, one, other)
    a, b = _as(kind, one, other), _as(kind, other, one)
    nothing = compare("eq", b, Number(0))
    turned = compare("eq", b, Number(-1)) if kind.kind == "int" else Number(value=False)
    found = binary(op, a, select(either(nothing, turned), Number(1), b))
    if op == "floordiv":  # the least integer by -1 is itself, and a trap in C
        return select(nothing, Number(0), select(turned, negative(a), found))
    return select(either(nothing, turned), Number(0), found)


def _shifted(op: str, one: Value, other: Value) -> Value:
    kind = common_type(one, other)
    if _is_plain(one, other, 0, kind.bits):
        return binary(op, one, other)
    a, b = _as(kind, one, other), _as(kind, other, one)
    beyond = compare("ge", b, Number(kind.bits))
    if kind.kind == "int":
        beyond = either(beyond, compare("lt", b, Number(0)))
    rest: Value = Number(0)
    if op == "shr" and kind.kind == "int":
        rest = select(compare("lt", a, Number(0)), Number(-1), Number(0))
    return select(beyond, rest, binary(op, a, select(beyond, Number(0), b)))
