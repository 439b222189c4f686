"""Dot products of packed pairs: two 16-bit integers in each of two 32-bit ones.

``dot(a, b) = i32(i16(a)) * i32(i16(b)) + (a >> 16) * (b >> 16)``

Processors have one instruction for it (``pmaddwd`` of x86): sums of products of narrow integers are
two at once, in 32 bits. An expression of this form is one wherever it comes from.
"""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

from polyopt.ir.expr import Binary, Cast, Const, Expr, Load, same_expr
from polyopt.ir.types import I16, I32

#: bits of each number of a pair, and those of the first in a word
HALF = 16
LOW = (1 << HALF) - 1


class PackedDot(NamedTuple):
    """The two words of a dot product."""

    left: Load
    right: Load


class DotUpdate(NamedTuple):
    """``target + dot(left, right)``, either way round."""

    target: Load
    dot: PackedDot


def dot_update(expr: Expr) -> DotUpdate | None:
    """What an expression adds a dot product of pairs to; ``None`` for any other."""
    if not _is(expr, "add"):
        return None
    for target, value in ((expr.left, expr.right), (expr.right, expr.left)):
        dot = packed_dot(value)
        if isinstance(target, Load) and dot is not None:
            return DotUpdate(target, dot)
    return None


def packed_dot(expr: Expr) -> PackedDot | None:
    """The words that an expression is the dot product of; ``None`` for any other."""
    if not _is(expr, "add"):
        return None
    low, high = expr.left, expr.right
    if not _is(low, "mul") or not _is(high, "mul"):
        return None
    words = [(_low(low.left), _high(high.left)), (_low(low.right), _high(high.right))]
    left, right = (one for one, _ in words)
    if left is None or right is None:
        return None
    same = all(b is not None and same_expr(a, b) for a, b in words if a is not None)
    return PackedDot(left, right) if same else None


def _is(expr: Expr, op: str) -> TypeGuard[Binary]:
    return isinstance(expr, Binary) and expr.op == op and expr.type == I32


def _low(expr: Expr) -> Load | None:
    """The word ``x`` of ``i32(i16(x))``."""
    if not isinstance(expr, Cast) or not isinstance(expr.operand, Cast):
        return None
    word = expr.operand.operand
    is_low = (expr.type, expr.operand.type, word.type) == (I32, I16, I32)
    return word if is_low and isinstance(word, Load) else None


def _high(expr: Expr) -> Load | None:
    """The word ``x`` of ``x >> 16``."""
    if not _is(expr, "shr") or not isinstance(expr.left, Load):
        return None
    by = expr.right
    return expr.left if isinstance(by, Const) and by.value == HALF else None
