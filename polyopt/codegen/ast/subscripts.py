"""Subscripts as sums: how they move with an iterator, and what constant they end with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary, Const, Unary, Var, number_of

if TYPE_CHECKING:
    from polyopt.codegen.ast.expr import Expr, Symbol


def coefficient(expr: Expr, iterator: Symbol) -> int | None:
    """The coefficient of an iterator in a sum; ``None`` where it is no sum of its multiples.

    2 for ``2 * x + y - 1`` along ``x``, 0 along ``z``.
    """
    if iterator not in expr.symbols:
        return 0
    match expr:
        case Var():
            return 1
        case Unary(sign="-", operand=operand):
            found = coefficient(operand, iterator)
            return None if found is None else -found
        case Binary(sign="*", left=Const() as left, right=right):
            found, factor = coefficient(right, iterator), number_of(left)
            return None if found is None or factor is None else factor * found
        case Binary(sign="+" | "-" as sign, left=left, right=right):
            one, two = coefficient(left, iterator), coefficient(right, iterator)
            if one is None or two is None:
                return None
            return one + two if sign == "+" else one - two
        case _:
            return None


def moves_by(expr: Expr, iterator: Symbol) -> int | None:
    """The positive stride of a subscript in an iterator; ``None`` where it has none."""
    found = coefficient(expr, iterator)
    return found if found is not None and found > 0 else None


def with_offset(expr: Expr) -> tuple[Expr | None, int]:
    """``x + i - 3`` as ``x + i`` and -3; a literal as nothing and itself."""
    known = number_of(expr)
    if known is not None:
        return None, known
    if not isinstance(expr, Binary) or expr.sign not in {"+", "-"}:
        return expr, 0
    by = number_of(expr.right)
    if by is None:
        return expr, 0
    return expr.left, by if expr.sign == "+" else -by
