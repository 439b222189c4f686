"""Index arithmetic as C text, computed in 64 bits wherever 32 may not hold its value.

Iterators and sizes of a function of its own are ``int64_t``. Among other code sizes are variables
of that code, often ``int``, and what an unrolled or single iteration leaves of an iterator is a
literal, an ``int`` as well: C's own promotions decide what their sums and products are.

rewrite: ``66 * T + n - 67`` -> ``66 * (int64_t)T + n - 67``, where ``T`` and ``n`` are ``int``

64 bits are taken to hold every index.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ctext import (
    ADD,
    MUL,
    PRIMARY,
    TERNARY,
    UNARY,
    CText,
    c_constant,
    common_type,
    explicit,
    is_inside,
    operation_bounds,
)
from polyopt.codegen.names import operand
from polyopt.ir import build
from polyopt.ir.types import I32, I64, ScalarType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_SUMS = {"+": ("add", ADD), "-": ("sub", ADD), "*": ("mul", MUL)}
_QUOTIENTS = frozenset({"/", "%"})


def index_number(value: int) -> CText:
    """A literal and the type that C gives it: ``int`` where that holds it, ``long`` otherwise."""
    if value == I64.range[0]:
        return CText("INT64_MIN", PRIMARY, I64, I64, (value, value))
    # C has no negative literals: the operand of the sign has to fit
    ctype = I32 if is_inside((-abs(value), abs(value)), I32) else I64
    return CText(str(value), UNARY if value < 0 else PRIMARY, I64, ctype, (value, value))


def index_variable(
    text: str, ctype: ScalarType = I64, bounds: tuple[int, int] | None = None
) -> CText:
    """A variable, or a cast of one, of a type and with bounds that are known otherwise."""
    level = UNARY if text.startswith("(") else PRIMARY
    return CText(text, level, I64, ctype, ctype.range if bounds is None else bounds)


def index_value(type_: ScalarType, value: CText) -> CText:
    """An affine value in its IR type: a number where unrolling leaves one."""
    low, high = value.bounds
    if low == high:
        return c_constant(type_, build.const(type_, low).value)
    return replace(value, type=type_)


def index_operation(sign: str, left: CText, right: CText) -> CText:
    """``left sign right`` for ``+``, ``-``, ``*``, and for ``/``, ``%`` by numbers above zero."""
    common = common_type(left, right)
    if sign in _QUOTIENTS:
        text = f"{left.at(MUL)} {sign} {right.at(MUL + 1)}"
        return CText(text, MUL, I64, common, _bounds(_rounded(sign, left, right), common))
    operation, level = _SUMS[sign]
    bounds = operation_bounds(operation, left.bounds, right.bounds)
    if common != I64 and not is_inside(bounds, common):
        left, right = _widened(left, right)
        common = I64
    text = f"{left.at(level)} {sign} {right.at(level + 1)}"
    return CText(text, level, I64, common, _bounds(bounds, common))


def index_negation(value: CText) -> CText:
    """``-value``; ``--x`` would be another operator."""
    low, high = value.bounds
    common = common_type(value)
    if common != I64 and not is_inside((-high, -low), common):
        value, common = explicit(value, I64), I64
    text = value.at(UNARY)
    text = f"-({text})" if text.startswith("-") else f"-{text}"
    return CText(text, UNARY, I64, common, _bounds((-high, -low), common))


def index_choice(condition: str, then: CText, other: CText) -> CText:
    """``condition ? then : other``: of the common type of both, whichever is taken."""
    text = f"{condition} ? {then.at(TERNARY + 1)} : {other.at(TERNARY)}"
    common = common_type(then, other)
    return CText(text, TERNARY, I64, common, _hull((then.bounds, other.bounds), common))


def index_operand(value: CText) -> CText:
    """The value as something that operators may stand next to."""
    return replace(value, text=operand(value.text), precedence=PRIMARY)


def texts_of(names: Mapping[str, CText]) -> set[str]:
    """The texts that names stand for."""
    return {name.text for name in names.values()}


def folded_start(index: CText, inner: Iterable[CText], extents: Iterable[Iterable[CText]]) -> CText:
    """The first subscript of an element of a folded array: ``i`` of ``(i * n + j) * m + k``.

    C computes the whole in 64 bits if it has so many, and otherwise up to the first part that has:
    it is cast where ``int`` may not hold that.
    """
    value = index
    for factors, subscript in zip(extents, inner, strict=True):
        for sign, part in (*(("*", factor) for factor in factors), ("+", subscript)):
            if common_type(value) == I64:
                return index
            common = common_type(value, part)
            value = index_operation(sign, value, part)
            if common != I64 == value.ctype:
                return explicit(index, I64)
    return index


def _rounded(sign: str, left: CText, right: CText) -> tuple[int, int]:
    """Bounds of a quotient or a remainder, whose sign is that of the left operand."""
    (low, high), (least, most) = left.bounds, right.bounds
    low, high = min(low, 0), max(high, 0)
    divisor = max(least, 1)
    if sign == "/":
        return -(-low // divisor), high // divisor
    return max(low, 1 - most), min(high, most - 1)


def _widened(left: CText, right: CText) -> tuple[CText, CText]:
    """One operand in 64 bits, to which C converts the other: a variable rather than a literal."""
    if re.fullmatch(r"-?\d+", left.text):
        return left, explicit(right, I64)
    return explicit(left, I64), right


def _bounds(bounds: tuple[int, int], ctype: ScalarType) -> tuple[int, int]:
    return ctype.range if ctype == I64 else bounds


def _hull(values: Iterable[tuple[int, int]], ctype: ScalarType) -> tuple[int, int]:
    lows, highs = zip(*values, strict=True)
    return _bounds((min(lows), max(highs)), ctype)
