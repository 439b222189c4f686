"""Expressions as Python text: of NumPy's scalars, typed so that Numba computes what C does.

Whole numbers are computed as such and put back into their type only where they may leave it.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from polyopt.codegen.expressions.affine import operation_name
from polyopt.errors import UnsupportedError
from polyopt.ir.expr import (
    Affine,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Inside,
    Load,
    RangeHint,
    Select,
    Unary,
)
from polyopt.ir.integers import plain
from polyopt.ir.types import BOOL, F64, I64, U64, ScalarType
from polyopt.isl import AstExpr, ast_expr_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_AFFINE = {
    "add": "+", "sub": "-", "mul": "*", "div": "//", "fdiv_q": "//", "pdiv_q": "//",
    "pdiv_r": "%", "zdiv_r": "%", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "and": "and", "and_then": "and", "or": "or", "or_else": "or",
}  # fmt: skip
_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "floormod": "%", "and": "&", "or": "|",
    "xor": "^", "shl": "<<", "shr": ">>",
}  # fmt: skip
_LOGICAL = {"and": "and", "or": "or", "xor": "!="}
_COMPARE = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}
#: what NumPy calls functions otherwise; what it has not is missing
_FUNCTIONS = {"fabs": "abs", "abs": "abs", "pow": "np.power", "atan2": "np.arctan2"}
_MISSING = frozenset({"erf", "round"})


def py_affine(expr: AstExpr, names: Mapping[str, str]) -> str:
    """An affine expression or condition in isl's AST, operations in parentheses."""
    kind = expr.get_type()
    if kind == ast_expr_type.int:
        return str(expr.get_val())
    if kind == ast_expr_type.id:
        name = expr.get_id().get_name()
        return names.get(name, name)
    op = operation_name(expr)
    args = [py_affine(expr.get_op_arg(i), names) for i in range(expr.get_op_n_arg())]
    if op in {"min", "max"}:
        return f"{op}({', '.join(args)})"
    if op == "minus":  # of what is negated itself: what a loop that counts down has
        twice = re.fullmatch(r"\(-(\w+)\)", args[0])
        return twice[1] if twice else f"(-{args[0]})"
    if op in {"cond", "select"}:
        return f"({args[1]} if {args[0]} else {args[2]})"
    return f"({args[0]} {_AFFINE[op]} {args[1]})"


def py_expression(
    expr: Expr, load: Callable[[Load], str], affine: Callable[[Affine | Inside], str]
) -> str:
    """``expr`` with operations in parentheses; the callbacks print loads and affine parts.

    Raises ``UnsupportedError`` for what Python has no words for: control by data, some functions.
    """

    def text(node: Expr) -> str:
        match node:
            case Load(type=type_) if type_.is_integer and type_ != I64:
                return _whole(type_, load(node))
            case Load():
                return load(node)
            case Affine() | Inside():
                return affine(node)
            case RangeHint():
                return text(node.operand)
            case Const():
                return _constant(node.type, node.value)
            case _:
                return _operation(node, [text(child) for child in node.children])

    return text(plain(expr))


def _whole(type_: ScalarType, text: str) -> str:
    """An element as a number of 64 bits: NumPy's own are of the element's width by literals too,
    and unsigned ones may not be subtracted from."""
    if type_ == U64:
        msg = "no Python for unsigned numbers of 64 bits"
        raise UnsupportedError(msg)
    return f"np.int64({text})"


def _constant(type_: ScalarType, value: float) -> str:
    if not type_.is_float:
        return str(bool(value)) if type_ == BOOL else str(int(value))
    number = repr(float(value)) if math.isfinite(value) else f"float('{value}')"
    return number if type_ == F64 else f"np.{type_.numpy_name}({number})"


def _operation(node: Expr, args: list[str]) -> str:
    match node:
        case Unary(op="neg"):
            return f"(-{args[0]})"
        case Unary():
            return f"(not {args[0]})" if node.type == BOOL else f"(~{args[0]})"
        case Compare():
            return f"({args[0]} {_COMPARE[node.op]} {args[1]})"
        case Select():
            return f"({args[1]} if {args[0]} else {args[2]})"
        case Cast(type=type_) if type_ == BOOL:
            return f"({args[0]} != 0)"
        case Cast():
            return f"np.{node.type.numpy_name}({args[0]})"
        case Call() if node.function not in _MISSING:
            return f"{_FUNCTIONS.get(node.function, f'np.{node.function}')}({', '.join(args)})"
        case Binary():
            return _binary(node, *args)
        case _:
            what = node.function if isinstance(node, Call) else "control that depends on data"
            msg = f"no Python for {what}"
            raise UnsupportedError(msg)


def _binary(node: Binary, left: str, right: str) -> str:
    if node.op in {"min", "max"}:  # the first where neither is the smaller, which C's is second
        return f"{node.op}({right}, {left})"
    if node.type == BOOL and node.op in _LOGICAL:
        return f"({left} {_LOGICAL[node.op]} {right})"
    if node.op == "mod":
        return f"np.fmod({left}, {right})"
    if node.op == "div":
        return f"({left} / {right})" if node.type.is_float else _towards_zero(left, right)
    return f"({left} {_BINARY[node.op]} {right})"


def _towards_zero(left: str, right: str) -> str:
    away = f"({left} < 0) != ({right} < 0)"
    return f"(-(-{left} // {right}) if {away} else {left} // {right})"
