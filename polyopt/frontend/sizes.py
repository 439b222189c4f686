"""Sizes and conditions on sizes written as text: ``"H - 2"``, ``"H >= 8"``."""

from __future__ import annotations

import ast
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from polyopt.errors import NonAffineError, ProgramSyntaxError, UnknownNameError
from polyopt.frontend.functions import extreme
from polyopt.frontend.values import (
    Form,
    Number,
    Value,
    Where,
    binary,
    both,
    compare,
    either,
    need_form,
    negation,
    negative,
    truth,
)
from polyopt.isl import affine_param, params_of

if TYPE_CHECKING:
    from polyopt.isl import PwAff, Set, Space

#: Python's operators by the operations of ``frontend.values``.
BINARY_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv",
    ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow", ast.BitAnd: "and",
    ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
COMPARE_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne",
}  # fmt: skip


@lru_cache(maxsize=4096)
def parse_size(text: str) -> ast.expr:
    """The syntax tree of a size expression. Raises ``ProgramSyntaxError``."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        message = f"{text!r} is not a size expression"
        hint = 'sizes are written as "H", "W - 2" or "2*N + 1"'
        raise ProgramSyntaxError(message, hint=hint) from None


def size_names(text: str) -> tuple[str, ...]:
    """The names in a size expression, in order of appearance, each once."""
    functions = {id(n.func) for n in ast.walk(parse_size(text)) if isinstance(n, ast.Call)}
    found = [n for n in ast.walk(parse_size(text)) if isinstance(n, ast.Name)]
    found.sort(key=lambda n: (n.lineno, n.col_offset))
    return tuple(dict.fromkeys(n.id for n in found if id(n) not in functions))


def size_form(text: str, space: Space) -> PwAff:
    """``{ [i] -> [size] }`` over ``space``, whose parameters have to hold the names.

    Raises ``NonAffineError``, ``ProgramSyntaxError`` or ``UnknownNameError``.
    """
    return need_form(size_value(text, space), space, f"the size {text!r}")


def size_condition(text: str, space: Space) -> Set:
    """``{ [i] : condition }`` for a text such as ``"H >= 8 and W % 16 == 0"``."""
    found = truth(size_value(text, space))
    if isinstance(found, Where):
        return found.where
    message = f"{text!r} is not an affine condition on sizes"
    raise NonAffineError(message, hint='write it as "H >= 8" or "W % 16 == 0"')


def size_value(text: str, space: Space) -> Value:
    """A size expression or condition as a value."""
    return _value(parse_size(text), text, space)


def _value(node: ast.expr, text: str, space: Space) -> Value:
    match node:
        case ast.Constant(value=int() as number):
            return Number(number)
        case ast.Name(id=name):
            if name not in params_of(space):
                known = ", ".join(params_of(space)) or "none"
                message = f"{text!r} uses {name!r}, which is no size"
                raise UnknownNameError(message, hint=f"the sizes are: {known}")
            return Form(affine_param(space, name))
        case ast.BinOp() if type(node.op) in BINARY_OPERATORS:
            left, right = (_value(n, text, space) for n in (node.left, node.right))
            return binary(BINARY_OPERATORS[type(node.op)], left, right)
        case ast.UnaryOp(op=ast.USub()):
            return negative(_value(node.operand, text, space))
        case ast.UnaryOp(op=ast.Not()):
            return negation(_value(node.operand, text, space))
        case ast.Compare():
            return _comparison(node, text, space)
        case ast.BoolOp():
            join = both if isinstance(node.op, ast.And) else either
            return reduce(join, [_value(n, text, space) for n in node.values])
        case ast.Call(func=ast.Name(id="min" | "max" as op), keywords=[]) if node.args:
            return extreme(op, [_value(n, text, space) for n in node.args])
        case _:
            message = f"{text!r} is not an affine size expression"
            hint = "sizes are built from names and integers with + - * // %, min and max"
            raise NonAffineError(message, hint=hint)


def _comparison(node: ast.Compare, text: str, space: Space) -> Value:
    values = [_value(n, text, space) for n in (node.left, *node.comparators)]
    result: Value = Number(True)
    for op, one, other in zip(node.ops, values, values[1:], strict=False):
        if type(op) not in COMPARE_OPERATORS:
            raise NonAffineError(f"{text!r} is not an affine condition on sizes")
        result = both(result, compare(COMPARE_OPERATORS[type(op)], one, other))
    return result
