"""Expressions as Python: of NumPy's scalars, typed so that Numba computes what C does.

Whole numbers are computed as such and put back into their type only where they may leave it.
"""

from __future__ import annotations

import ast
import math
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
from polyopt.ir.types import BF16, BOOL, F64, I64, U64, ScalarType
from polyopt.isl import AstExpr, ast_expr_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ARITHMETIC: dict[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod,
    "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor, "<<": ast.LShift, ">>": ast.RShift,
}  # fmt: skip
_TESTS: dict[str, type[ast.cmpop]] = {
    "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE, "==": ast.Eq, "!=": ast.NotEq,
}  # fmt: skip
_JOINS: dict[str, type[ast.boolop]] = {"and": ast.And, "or": ast.Or}
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


# -- small expressions ------------------------------------------------------------------------


def name_of(text: str) -> ast.expr:
    """A name, or one of a module: ``np.float32``."""
    module, dot, own = text.partition(".")
    return ast.Attribute(ast.Name(module), own) if dot else ast.Name(text)


def number(value: float) -> ast.expr:
    """A literal: Python has none with a sign."""
    negative = math.copysign(1.0, value) < 0
    return negated(ast.Constant(-value)) if negative else ast.Constant(value)


def number_of(expr: ast.expr) -> int | None:
    """The value of a whole literal without a sign."""
    known = isinstance(expr, ast.Constant) and isinstance(expr.value, int)
    return int(expr.value) if known else None  # type: ignore[arg-type]


def negated(expr: ast.expr) -> ast.expr:
    """``-x``."""
    return ast.UnaryOp(ast.USub(), expr)


def operation(sign: str, left: ast.expr, right: ast.expr) -> ast.expr:
    """``left sign right``."""
    if sign in _JOINS:
        return ast.BoolOp(_JOINS[sign](), [left, right])
    if sign in _TESTS:
        return ast.Compare(left, [_TESTS[sign]()], [right])
    return ast.BinOp(left, _ARITHMETIC[sign](), right)


def call(function: str, *given: ast.expr) -> ast.expr:
    """``function(given)``."""
    return ast.Call(name_of(function), list(given), [])


def element(array: str, index: list[ast.expr]) -> ast.expr:
    """``array[i, j]``; ``array[()]`` is the value of an array without dimensions."""
    return ast.Subscript(ast.Name(array), index[0] if len(index) == 1 else ast.Tuple(index))


def is_atom(expr: ast.expr) -> bool:
    """Whether it is a name or a literal."""
    return isinstance(expr, (ast.Name, ast.Constant))


# -- of isl, and of programs ------------------------------------------------------------------


def py_affine(expr: AstExpr, names: Mapping[str, ast.expr]) -> ast.expr:
    """An affine expression or condition in isl's AST."""
    kind = expr.get_type()
    if kind == ast_expr_type.int:
        return number(expr.get_val().to_python())
    if kind == ast_expr_type.id:
        name = expr.get_id().get_name()
        return names.get(name) or name_of(name)
    op = operation_name(expr)
    args = [py_affine(expr.get_op_arg(i), names) for i in range(expr.get_op_n_arg())]
    match op, args:
        case (("min" | "max"), _):
            return call(op, *args)
        # of what is negated itself: what a loop that counts down has
        case "minus", [ast.UnaryOp(op=ast.USub(), operand=twice)] if is_atom(twice):
            return twice
        case "minus", _:
            return negated(args[0])
        case (("cond" | "select"), _):
            return ast.IfExp(*args)
        case _:
            return operation(_AFFINE[op], *args)


def py_expression(
    expr: Expr, load: Callable[[Load], ast.expr], affine: Callable[[Affine | Inside], ast.expr]
) -> ast.expr:
    """``expr`` in Python; the callbacks give loads and affine parts.

    Raises ``UnsupportedError`` for what Python has no words for: control by data, some functions.
    """

    def made(node: Expr) -> ast.expr:
        match node:
            case Load(type=type_) if type_.is_integer and type_ != I64:
                return _whole(type_, load(node))
            case Load():
                return load(node)
            case Affine() | Inside():
                return affine(node)
            case RangeHint():
                return made(node.operand)
            case Const():
                return _constant(node.type, node.value)
            case _:
                return _operation(node, [made(child) for child in node.children])

    return made(plain(expr))


def _whole(type_: ScalarType, value: ast.expr) -> ast.expr:
    """An element as a number of 64 bits: NumPy's own are of the element's width by literals too,
    and unsigned ones may not be subtracted from."""
    if type_ == U64:
        msg = "no Python for unsigned numbers of 64 bits"
        raise UnsupportedError(msg)
    return call("np.int64", value)


def _constant(type_: ScalarType, value: float) -> ast.expr:
    if not type_.is_float:
        return ast.Constant(bool(value)) if type_ == BOOL else number(int(value))
    finite = math.isfinite(value)
    made = number(float(value)) if finite else call("float", ast.Constant(str(value)))
    return made if type_ == F64 else call(f"np.{type_.numpy_name}", made)


def _operation(node: Expr, args: list[ast.expr]) -> ast.expr:
    match node:
        case Unary(op="neg"):
            return negated(args[0])
        case Unary():
            return ast.UnaryOp(ast.Not() if node.type == BOOL else ast.Invert(), args[0])
        case Compare():
            return operation(_COMPARE[node.op], *args)
        case Select():
            return ast.IfExp(*args)
        case Cast() if BF16 in {node.type, node.operand.type}:
            msg = "no Python for bfloat16: NumPy has no such type"
            raise UnsupportedError(msg)
        case Cast(type=type_) if type_ == BOOL:
            return operation("!=", args[0], number(0))
        case Cast():
            return call(f"np.{node.type.numpy_name}", *args)
        case Call() if node.function not in _MISSING:
            return call(_FUNCTIONS.get(node.function, f"np.{node.function}"), *args)
        case Binary():
            return _binary(node, *args)
        case _:
            what = node.function if isinstance(node, Call) else "control that depends on data"
            msg = f"no Python for {what}"
            raise UnsupportedError(msg)


def _binary(node: Binary, left: ast.expr, right: ast.expr) -> ast.expr:
    if node.op in {"min", "max"}:  # the first where neither is the smaller, which C's is second
        return call(node.op, right, left)
    if node.type == BOOL and node.op in _LOGICAL:
        return operation(_LOGICAL[node.op], left, right)
    if node.op == "mod":
        return call("np.fmod", left, right)
    if node.op == "div":
        return operation("/", left, right) if node.type.is_float else _towards_zero(left, right)
    return operation(_BINARY[node.op], left, right)


def _towards_zero(left: ast.expr, right: ast.expr) -> ast.expr:
    signs = (operation("<", part, number(0)) for part in (left, right))
    up = negated(operation("//", negated(left), right))
    return ast.IfExp(operation("!=", *signs), up, operation("//", left, right))
