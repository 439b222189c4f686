"""Building expressions in one normal form, so that equal computations compare equal.

Rules: constants fold at their own precision; a cast of a value-preserving cast drops the inner
one; wrapping arithmetic is done at the narrowest type its result is cut to, minima, maxima and
comparisons at that of their operands before they were widened; divisions that round alike because
no operand is negative become ``div``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from polyopt.errors import TypeMismatchError
from polyopt.ir.expr import (
    BINARY_OPS,
    COMPARE_OPS,
    FUNCTIONS,
    Affine,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Load,
    Select,
    Unary,
)
from polyopt.ir.halves import rounded
from polyopt.ir.types import BOOL, F32, I64, U64, ScalarType, contains
from polyopt.isl import constant_value

if TYPE_CHECKING:
    from polyopt.isl import PwAff

_WRAPPING = {"add", "sub", "mul", "and", "or", "xor"}
_ROUNDING = {"div", "mod", "floordiv", "floormod"}


def const(type_: ScalarType, value: float) -> Const:
    """A literal of the type, wrapped or rounded into it."""
    if type_.is_half:
        return Const(type_, rounded(type_, float(const(F32, value).value)))
    if type_ == BOOL:
        return Const(type_, int(value != 0))
    if not type_.is_float:
        return Const(type_, _wrap(type_, int(value)))
    if isinstance(value, int) and I64.range[0] <= value <= U64.range[1]:
        # rounded once: by way of a double it would be twice
        wide = np.uint64(value) if value > I64.range[1] else np.int64(value)
        return Const(type_, float(wide.astype(type_.numpy_name)))
    if type_ != F32:
        return Const(type_, float(value))
    with np.errstate(over="ignore"):  # beyond the greatest one it is infinite, as in C
        return Const(type_, float(np.float32(value)))


def affine(type_: ScalarType, form: PwAff) -> Expr:
    """An affine value of an integer type; a constant where it is one."""
    number = constant_value(form)
    return Affine(type_, form) if number is None else const(type_, number)


def _wrap(type_: ScalarType, value: int) -> int:
    value &= (1 << type_.bits) - 1
    return value - (1 << type_.bits) if value > type_.range[1] else value


def value_range(expr: Expr) -> tuple[int, int]:
    """Bounds on an integer expression's value, from types and operations alone."""
    whole = expr.type.range
    match expr:
        case Const():
            return int(expr.value), int(expr.value)
        case Cast() if not expr.operand.type.is_float:
            return _within(value_range(expr.operand), whole)
        case Select():
            one, other = value_range(expr.then), value_range(expr.other)
            return min(one[0], other[0]), max(one[1], other[1])
        case Binary():
            return _within(_binary_range(expr, whole), whole)
        case Unary(op="neg"):
            low, high = value_range(expr.operand)
            return _within((-high, -low), whole)
        case Call(function="abs") if not expr.type.is_float:
            low, high = value_range(expr.args[0])
            return _within((max(low, -high, 0), max(-low, high)), whole)
        case _:
            return whole


def _within(found: tuple[int, int], whole: tuple[int, int]) -> tuple[int, int]:
    return found if whole[0] <= found[0] and found[1] <= whole[1] else whole


def _binary_range(expr: Binary, whole: tuple[int, int]) -> tuple[int, int]:
    (a, b), (c, d) = value_range(expr.left), value_range(expr.right)
    match expr.op:
        case "add":
            return a + c, b + d
        case "sub":
            return a - d, b - c
        case "mul":
            corners = (a * c, a * d, b * c, b * d)
            return min(corners), max(corners)
        case "min":
            return min(a, c), min(b, d)
        case "max":
            return max(a, c), max(b, d)
        case "div" | "floordiv" if c > 0:
            return _quotients(expr.op, (a, b), (c, d))
        case "mod" if c > 0:
            return max(min(a, 0), 1 - d), min(max(b, 0), d - 1)
        case "floormod" if c > 0:
            return 0, d - 1 if a < 0 else min(b, d - 1)
        case _:
            return _bit_range(expr.op, (a, b), (c, d), whole)


def _bit_range(
    op: str, left: tuple[int, int], right: tuple[int, int], whole: tuple[int, int]
) -> tuple[int, int]:
    (a, b), (c, d) = left, right
    match op:
        case "and" if a >= 0 or c >= 0:
            return 0, min(end for low, end in (left, right) if low >= 0)
        case "or" | "xor" if a >= 0 and c >= 0:
            return 0, (1 << max(b, d).bit_length()) - 1
        case "shr" if c >= 0:
            return a >> min(c if a < 0 else d, 64), b >> min(d if b < 0 else c, 64)
        case _:
            return whole


def _quotients(op: str, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    """Bounds of a quotient by positive numbers: the largest one takes most away."""
    if op == "floordiv":
        found = [x // y for x in left for y in right]
    else:
        found = [abs(x) // y * (1 if x >= 0 else -1) for x in left for y in right]
    return min(found), max(found)


def cast(type_: ScalarType, operand: Expr) -> Expr:
    """``operand`` converted to the type, in the simplest form that is equal.

    Halves are made of f32 and become f32: from and to other types there are two conversions.
    """
    if operand.type == type_:
        return operand
    if F32 not in {type_, operand.type} and (type_.is_half or operand.type.is_half):
        return cast(type_, cast(F32, operand))
    if isinstance(operand, Const):
        return _cast_const(type_, operand)
    if isinstance(operand, Affine) and type_.is_integer and _widens(type_, operand.type):
        return Affine(type_, operand.form)
    if isinstance(operand, Cast) and _drops_inner(type_, operand):
        return cast(type_, operand.operand)
    if type_.is_integer and isinstance(operand, Binary) and _narrowable(type_, operand):
        return binary(operand.op, cast(type_, operand.left), cast(type_, operand.right))
    return Cast(type_, operand)


def _widens(wide: ScalarType, narrow: ScalarType) -> bool:
    return narrow.kind == "int" and contains(wide, narrow)


def _cast_const(type_: ScalarType, operand: Const) -> Expr:
    if operand.type.is_float and not type_.is_float and type_ != BOOL:
        if not math.isfinite(operand.value):
            return Cast(type_, operand)
        low, high = type_.range
        if not low <= int(operand.value) <= high:
            return Cast(type_, operand)
    return const(type_, operand.value)


def _drops_inner(type_: ScalarType, operand: Cast) -> bool:
    """Whether ``type_(inner_type(x))`` equals ``type_(x)`` for every ``x``."""
    inner, origin = operand.type, operand.operand.type
    if origin.is_half and type_ != origin:
        return False
    if inner.is_float or origin.is_float or BOOL in {inner, type_}:
        return inner.is_float and origin.is_float and inner.bits >= origin.bits
    return contains(inner, origin) or (type_.is_integer and type_.bits <= inner.bits)


def _narrowable(type_: ScalarType, expr: Expr) -> bool:
    """Whether a wrapping operation can be done at ``type_`` on operands that have its width."""
    if expr.type.is_float or expr.type.bits <= type_.bits:
        return False
    match expr:
        case Const():
            return True
        case Cast():
            return expr.operand.type.is_integer and expr.operand.type.bits <= type_.bits
        case Binary() if expr.op in _WRAPPING:
            return _narrowable(type_, expr.left) and _narrowable(type_, expr.right)
        case _:
            return False


def binary(op: str, left: Expr, right: Expr) -> Expr:
    """One of ``BINARY_OPS`` on operands of one type. Raises ``TypeMismatchError``."""
    type_ = _common(op, left, right)
    if op not in BINARY_OPS:
        msg = f"unknown operation {op!r}"
        raise TypeMismatchError(msg)
    if type_.is_float and op in {"and", "or", "xor", "shl", "shr"}:
        msg = f"{op} is not defined on {type_}"
        raise TypeMismatchError(msg)
    if op in {"floordiv", "floormod"} and type_.is_integer and _both_natural(left, right):
        op = "div" if op == "floordiv" else "mod"
    if isinstance(left, Const) and isinstance(right, Const):
        folded = _fold(op, type_, left.value, right.value)
        if folded is not None:
            return folded
    if (narrow := _divide_narrow(op, left, right)) is not None:
        return narrow
    if op in {"min", "max"} and (both := _before_widening(left, right)) is not None:
        return cast(type_, binary(op, *both))
    return Binary(type_, op, left, right)


def _before_widening(left: Expr, right: Expr) -> tuple[Expr, Expr] | None:
    """Integers of one narrow type that two operands are, widened; one may be a constant of it.

    Widening keeps the order, so that the narrow ones compare alike.
    """
    narrow = next((e.operand.type for e in (left, right) if is_widened(e)), None)
    if narrow is None:
        return None
    found: list[Expr] = []
    for operand in (left, right):
        if is_widened(operand) and operand.operand.type == narrow:
            found.append(operand.operand)
        elif isinstance(operand, Const) and narrow.range[0] <= operand.value <= narrow.range[1]:
            found.append(const(narrow, operand.value))
        else:
            return None
    return found[0], found[1]


def is_widened(expr: Expr) -> TypeGuard[Cast]:
    """Whether it is an integer converted to a type that holds all values of its own."""
    if (
        not isinstance(expr, Cast)
        or not expr.type.is_integer
        or BOOL in {expr.type, expr.operand.type}
    ):
        return False
    return expr.operand.type.is_integer and contains(expr.type, expr.operand.type)


def _common(op: str, left: Expr, right: Expr) -> ScalarType:
    if left.type != right.type:
        msg = f"{op} of {left.type} and {right.type}: operands need one type"
        raise TypeMismatchError(msg)
    return left.type


def _both_natural(left: Expr, right: Expr) -> bool:
    return value_range(left)[0] >= 0 and value_range(right)[0] > 0


def _divide_narrow(op: str, left: Expr, right: Expr) -> Expr | None:
    """``wide(x) / c`` is ``wide(x / c)`` for unsigned ``x`` when ``c`` fits x's type."""
    if op not in {"div", "mod", "shr"} or not isinstance(right, Const):
        return None
    if not isinstance(left, Cast) or left.operand.type.kind != "uint":
        return None
    inner = left.operand.type
    if not left.type.is_integer or not contains(left.type, inner):
        return None
    limit = inner.bits - 1 if op == "shr" else inner.range[1]
    if not (op == "shr" or right.value > 0) or not 0 <= right.value <= limit:
        return None
    return cast(left.type, binary(op, left.operand, const(inner, right.value)))


def _fold(op: str, type_: ScalarType, a: float, b: float) -> Const | None:
    if type_.is_float:
        return _fold_float(op, type_, a, b)
    x, y = int(a), int(b)
    if op in _ROUNDING and y == 0:
        return None
    if op in {"shl", "shr"} and not 0 <= y < type_.bits:
        return None
    quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) if y else 0
    table = {
        "add": x + y, "sub": x - y, "mul": x * y, "min": min(x, y), "max": max(x, y),
        "and": x & y, "or": x | y, "xor": x ^ y, "div": quotient, "mod": x - quotient * y,
        "floordiv": x // y if y else 0, "floormod": x % y if y else 0,
    }  # fmt: skip
    value = table[op] if op in table else (x << y if op == "shl" else x >> y)
    return const(type_, value)


def _fold_float(op: str, type_: ScalarType, a: float, b: float) -> Const | None:
    make = np.float32 if type_ == F32 else np.float64
    x, y = make(a), make(b)
    if op not in {"add", "sub", "mul", "div"} or (op == "div" and y == 0):
        return None
    with np.errstate(all="ignore"):
        value = {"add": x + y, "sub": x - y, "mul": x * y}[op] if op != "div" else x / y
    return const(type_, float(value)) if np.isfinite(value) else None


def identity(op: str, type_: ScalarType) -> Const:
    """What a reduction starts from: the number that changes nothing in ``add``, ``mul``, ``min`` or
    ``max``."""
    low, high = (-math.inf, math.inf) if type_.is_float else type_.range
    return const(type_, {"add": 0, "mul": 1, "max": low, "min": high}[op])


def compare(op: str, left: Expr, right: Expr) -> Expr:
    """``lt``, ``le``, ``eq``, ``ne`` (``gt`` and ``ge`` swap); of type bool."""
    if op in {"gt", "ge"}:
        return compare({"gt": "lt", "ge": "le"}[op], right, left)
    if op not in COMPARE_OPS:
        msg = f"unknown comparison {op!r}"
        raise TypeMismatchError(msg)
    _common(op, left, right)
    if (both := _before_widening(left, right)) is not None:
        left, right = both
    return Compare(BOOL, op, left, right)


def select(cond: Expr, then: Expr, other: Expr) -> Expr:
    """``cond ? then : other`` with a bool condition and operands of one type."""
    if cond.type != BOOL:
        cond = compare("ne", cond, const(cond.type, 0))
    type_ = _common("select", then, other)
    if isinstance(cond, Const):
        return then if cond.value else other
    return Select(type_, cond, then, other)


def negate(operand: Expr) -> Expr:
    """Arithmetic negation."""
    if isinstance(operand, Const):
        return const(operand.type, -operand.value)
    return Unary(operand.type, "neg", operand)


def invert(operand: Expr) -> Expr:
    """Logical ``not`` of a bool, bitwise complement of an integer."""
    if operand.type.is_float:
        msg = f"complement is not defined on {operand.type}"
        raise TypeMismatchError(msg)
    return Unary(operand.type, "not", operand)


def call(function: str, *args: Expr) -> Expr:
    """A math function at its arguments' common type. Raises ``TypeMismatchError``."""
    if function not in FUNCTIONS:
        msg = f"unknown function {function!r}; known: {', '.join(FUNCTIONS)}"
        raise TypeMismatchError(msg)
    if len(args) != FUNCTIONS[function]:
        msg = f"{function} takes {FUNCTIONS[function]} argument(s), not {len(args)}"
        raise TypeMismatchError(msg)
    type_ = args[0].type
    if any(a.type != type_ for a in args) or (function != "abs" and not type_.is_float):
        msg = f"{function} is not defined on {', '.join(str(a.type) for a in args)}"
        raise TypeMismatchError(msg)
    if function == "abs" and type_.is_float:
        function = "fabs"
    return Call(type_, function, args)


def load(type_: ScalarType, array: str, index: tuple[Expr, ...]) -> Load:
    """A read of one element; the caller gives the array's type."""
    return Load(type_, array, index)
