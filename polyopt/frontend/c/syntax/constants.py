"""The integers that macros stand for."""

from __future__ import annotations

import ast
import operator
import re
from typing import TYPE_CHECKING

from polyopt.ir.types import I64, U64

if TYPE_CHECKING:
    from collections.abc import Callable

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: lambda a, b: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
}  # fmt: skip


def constant_integer(text: str) -> int | None:
    """The 64-bit value of C's literals joined by ``+ - * /`` and parentheses; else ``None``."""
    plain = re.sub(r"\b(0[xX][0-9a-fA-F]+|[1-9]\d*|0)[uUlL]*\b", r"\1", text.strip())
    if not re.fullmatch(r"[-+*/() \t\da-fA-FxX]+", plain):
        return None
    try:
        value = _value(ast.parse(plain, mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
        return None
    return value if I64.range[0] <= value <= U64.range[1] else None


def _value(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.UnaryOp(op=ast.USub()):
            return -_value(node.operand)
        case ast.UnaryOp(op=ast.UAdd()):
            return _value(node.operand)
        case ast.BinOp() if type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](_value(node.left), _value(node.right))
        case _:
            raise ValueError
