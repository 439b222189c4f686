"""Indices outside an extent: which element a clamped, mirrored or wrapped grid has there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.frontend.functions import clamp
from polyopt.frontend.values import (
    Form,
    Number,
    Value,
    Where,
    binary,
    both,
    compare,
    select,
)
from polyopt.isl import constant_value

if TYPE_CHECKING:
    from polyopt.isl import Set


def is_inside(index: Value, low: Value, high: Value) -> Value:
    """Whether ``low <= index < high``."""
    return both(compare("ge", index, low), compare("lt", index, high))


def always(condition: Value, domain: Set) -> bool:
    """Whether a condition holds for all of ``domain``."""
    if isinstance(condition, Number):
        return bool(condition.value)
    return isinstance(condition, Where) and domain.is_subset(condition.where)


def border_index(kind: str, index: Value, low: Value, high: Value, domain: Set) -> Value:
    """The index inside ``low`` .. ``high`` whose element stands at ``index``."""
    if kind == "padded" or always(is_inside(index, low, high), domain):
        return index
    match kind:
        case "clamped":
            return clamp(index, low, binary("sub", high, Number(1)))
        case "wrapped":
            return _wrapped(index, low, high)
        case _:
            return _mirrored(index, low, high, 1 if kind == "mirrored" else 0)


def _length(low: Value, high: Value) -> int | None:
    length = binary("sub", high, low)
    if isinstance(length, Number):
        return int(length.value)
    return constant_value(length.form) if isinstance(length, Form) else None


def _wrapped(index: Value, low: Value, high: Value) -> Value:
    length = _length(low, high)
    if length is not None:
        return binary("add", binary("mod", binary("sub", index, low), Number(length)), low)
    period = binary("sub", high, low)
    before, after = binary("add", index, period), binary("sub", index, period)
    inner = select(compare("ge", index, high), after, index)
    return select(compare("lt", index, low), before, inner)


def _mirrored(index: Value, low: Value, high: Value, twice: int) -> Value:
    """``twice`` is 1 where the outermost element appears twice, else 0."""
    length = _length(low, high)
    if length is not None:
        period = Number(max(1, 2 * length - 2 + 2 * twice))
        phase = binary("mod", binary("sub", index, low), period)
        back = binary("sub", Number(int(period.value) - twice), phase)
        inner = select(compare("lt", phase, Number(length)), phase, back)
        return binary("add", inner, low)
    left = binary("sub", binary("mul", low, Number(2)), index)
    left = binary("sub", left, Number(twice))
    right = binary("sub", binary("mul", high, Number(2)), index)
    right = binary("sub", right, Number(2 - twice))
    inner = select(compare("ge", index, high), right, index)
    return select(compare("lt", index, low), left, inner)
