"""Index arithmetic as C, computed in 64 bits wherever 32 may not hold its value.

Iterators and sizes of a function of its own are ``int64_t``. Among other code sizes are variables
of that code, often ``int``, and what an unrolled or single iteration leaves of an iterator is a
literal, an ``int`` as well: C's own promotions decide what their sums and products are.

rewrite: ``66 * T + n - 67`` -> ``66 * (int64_t)T + n - 67``, where ``T`` and ``n`` are ``int``

64 bits are taken to hold every index.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary, Const, Select, Unary, number
from polyopt.codegen.expressions.lowered import Lowered, common_type, constant, explicit
from polyopt.ir import build
from polyopt.ir.intervals import is_inside, operation_bounds
from polyopt.ir.types import I64, ScalarType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyopt.codegen.ast.expr import Expr

_SUMS = {"+": "add", "-": "sub", "*": "mul"}
_QUOTIENTS = frozenset({"/", "%"})


def index_number(value: int) -> Lowered:
    """A literal and the type that C gives it: ``int`` where that holds it, ``long`` otherwise."""
    return Lowered(number(value), I64, (value, value))


def index_variable(node: Expr, bounds: tuple[int, int] | None = None) -> Lowered:
    """A variable, or a cast of one, with bounds that are known otherwise."""
    made = Lowered(node, I64)
    return replace(made, bounds=made.ctype.range if bounds is None else bounds)


def index_value(type_: ScalarType, value: Lowered) -> Lowered:
    """An affine value in its IR type: a number where unrolling leaves one."""
    low, high = value.bounds
    if low == high:
        return constant(type_, build.const(type_, low).value)
    return replace(value, type=type_)


def index_operation(sign: str, left: Lowered, right: Lowered) -> Lowered:
    """``left sign right`` for ``+``, ``-``, ``*``, and for ``/``, ``%`` by numbers above zero."""
    common = common_type(left, right)
    if sign in _QUOTIENTS:
        rounded = _rounded(sign, left, right)
        bounds = rounded if sign == "%" else _bounds(rounded, common)
        return Lowered(Binary(sign, left.node, right.node), I64, bounds)
    bounds = operation_bounds(_SUMS[sign], left.bounds, right.bounds)
    if common != I64 and not is_inside(bounds, common):
        left, right = _widened(left, right)
        common = I64
    return Lowered(Binary(sign, left.node, right.node), I64, _bounds(bounds, common))


def index_negation(value: Lowered) -> Lowered:
    """``-value``."""
    low, high = value.bounds
    common = common_type(value)
    if common != I64 and not is_inside((-high, -low), common):
        value, common = explicit(value, I64), I64
    return Lowered(Unary("-", value.node), I64, _bounds((-high, -low), common))


def index_choice(condition: Expr, then: Lowered, other: Lowered) -> Lowered:
    """``condition ? then : other``: of the common type of both, whichever is taken."""
    common = common_type(then, other)
    bounds = _hull((then.bounds, other.bounds), common)
    return Lowered(Select(condition, then.node, other.node), I64, bounds)


def folded_start(
    index: Lowered, inner: Iterable[Lowered], extents: Iterable[Iterable[Lowered]]
) -> Lowered:
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


def _rounded(sign: str, left: Lowered, right: Lowered) -> tuple[int, int]:
    """Bounds of a quotient or a remainder, whose sign is that of the left operand."""
    (low, high), (least, most) = left.bounds, right.bounds
    low, high = min(low, 0), max(high, 0)
    divisor = max(least, 1)
    if sign == "/":
        return -(-low // divisor), high // divisor
    return max(low, 1 - most), min(high, most - 1)


def _widened(left: Lowered, right: Lowered) -> tuple[Lowered, Lowered]:
    """One operand in 64 bits, to which C converts the other: a variable rather than a literal."""
    if isinstance(left.node, Const):
        return left, explicit(right, I64)
    return explicit(left, I64), right


def _bounds(bounds: tuple[int, int], ctype: ScalarType) -> tuple[int, int]:
    return ctype.range if ctype == I64 else bounds


def _hull(values: Iterable[tuple[int, int]], ctype: ScalarType) -> tuple[int, int]:
    lows, highs = zip(*values, strict=True)
    return _bounds((min(lows), max(highs)), ctype)
