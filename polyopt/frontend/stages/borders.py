"""Indices outside an extent: which element a clamped, mirrored or wrapped grid has there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.frontend.values import (
    Form,
    Number,
    Value,
    Where,
    binary,
    both,
    compare,
    negation,
    select,
)
from polyopt.isl import constant_value

if TYPE_CHECKING:
    from polyopt.isl import Set


def always(condition: Value, domain: Set) -> bool:
    """Whether a condition holds for all of ``domain``."""
    if isinstance(condition, Number):
        return bool(condition.value)
    return isinstance(condition, Where) and domain.is_subset(condition.where)


def border_index(kind: str, index: Value, low: Value, high: Value, domain: Set) -> Value:
    """The index inside ``low`` .. ``high`` whose element stands at ``index``."""
    if kind == "padded":
        return index
    match kind:
        case "clamped":
            return _clamped(index, low, high, domain)
        case "wrapped":
            return _wrapped(index, low, high, domain)
        case _:
            return _mirrored(index, low, high, 1 if kind == "mirrored" else 0, domain)


def inside(index: Value, low: Value, high: Value, domain: Set) -> Value:
    """``low <= index < high``, without the sides that always hold in ``domain``."""
    sides = (compare("ge", index, low), compare("lt", index, high))
    left, right = (Number(True) if always(side, domain) else side for side in sides)
    return both(left, right)


def _outside(index: Value, low: Value, high: Value, domain: Set) -> tuple[Value, Value]:
    """Whether an index lies before and after a range; known where it never does."""
    before, after = compare("lt", index, low), compare("ge", index, high)
    return _unless_never(before, domain), _unless_never(after, domain)


def _unless_never(condition: Value, domain: Set) -> Value:
    return Number(False) if always(negation(condition), domain) else condition


def _clamped(index: Value, low: Value, high: Value, domain: Set) -> Value:
    if not always(compare("ge", index, low), domain):
        index = binary("max", index, low)
    if not always(compare("lt", index, high), domain):
        index = binary("min", index, binary("sub", high, Number(1)))
    return index


def _length(low: Value, high: Value) -> int | None:
    length = binary("sub", high, low)
    if isinstance(length, Number):
        return int(length.value)
    return constant_value(length.form) if isinstance(length, Form) else None


def _wrapped(index: Value, low: Value, high: Value, domain: Set) -> Value:
    length = _length(low, high)
    if always(inside(index, low, high, domain), domain):
        return index
    if length is not None:
        return binary("add", binary("mod", binary("sub", index, low), Number(length)), low)
    period = binary("sub", high, low)
    is_before, is_after = _outside(index, low, high, domain)
    inner = select(is_after, binary("sub", index, period), index)
    return select(is_before, binary("add", index, period), inner)


def _mirrored(index: Value, low: Value, high: Value, twice: int, domain: Set) -> Value:
    """``twice`` is 1 where the outermost element appears twice, else 0."""
    length = _length(low, high)
    if always(inside(index, low, high, domain), domain):
        return index
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
    is_before, is_after = _outside(index, low, high, domain)
    return select(is_before, left, select(is_after, right, index))
