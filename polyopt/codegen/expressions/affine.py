"""isl's affine expressions and conditions as C over iterators and sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from polyopt.codegen.ast.expr import (
    Binary,
    Call,
    Const,
    Expr,
    Select,
    Unary,
    is_negative,
    joined,
    number,
    number_of,
)
from polyopt.codegen.expressions.indices import (
    index_choice,
    index_negation,
    index_number,
    index_operation,
    index_variable,
)
from polyopt.codegen.expressions.lowered import Lowered, common_type, explicit
from polyopt.codegen.helpers.arithmetic import helper_name
from polyopt.errors import InternalError
from polyopt.ir.intervals import decided, is_inside
from polyopt.ir.types import BOOL, I64
from polyopt.isl import (
    AstBuild,
    AstExpr,
    PwAff,
    Set,
    affine_constant,
    ast_expr_type,
    constant_value,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "pdiv_q": "/", "pdiv_r": "%", "zdiv_r": "%",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==",
    "and": "&&", "and_then": "&&", "or": "||", "or_else": "||",
}  # fmt: skip
_ARITHMETIC = frozenset("+-*/%")
_LOGICAL = frozenset({"&&", "||"})


def c_extent(extent: PwAff, context: Set, names: Mapping[str, Lowered]) -> Lowered:
    """An affine expression of the parameters as C, simplified under the context."""
    build = AstBuild.from_context(context)
    return c_affine(build.expr_from_pw_aff(extent), names)


def at_least_one(extent: PwAff, context: Set) -> PwAff:
    """C has no arrays without elements, or with fewer, for sizes at which nothing is stored."""
    one = affine_constant(extent.get_domain_space(), 1)
    return extent if context.is_subset(extent.ge_set(one)) else extent.union_max(one)


def c_trips(start: Lowered, bound: Lowered) -> Expr:
    """About how many iterations a loop runs: its bound less its start; never below zero.

    One less than that is no overflow either.
    """
    if number_of(start.node) == 0:
        low, _ = bound.bounds
        fits = is_inside((low - 1, low), common_type(bound))
        return bound.node if bound.ctype == I64 or fits else explicit(bound, I64).node
    count = index_operation("-", bound, start).node
    # no helper, which a compiler without OpenMP would not need
    return Select(Binary(">", count, number(0)), count, number(0))


def c_condition(context: Set, names: Mapping[str, Lowered]) -> Expr:
    """A condition on the parameters as C."""
    build = AstBuild.from_context(Set.universe(context.get_space()))
    return c_affine(build.expr_from_set(context.coalesce()), names).node


def operation_name(expr: AstExpr) -> str:
    """The name of an operation in isl's AST: ``add``, ``fdiv_q``, ``and``, ..."""
    kind: Any = expr.get_op_type()
    return str(kind.name).rstrip("_")


def c_affine(expr: AstExpr, names: Mapping[str, Lowered]) -> Lowered:
    """C of an affine expression or condition in isl's AST.

    ``names`` maps iterators and sizes to C. Rounding down becomes ``floordiv_i64``. Raises
    ``InternalError`` for a name that it does not have.
    """
    kind = expr.get_type()
    if kind == ast_expr_type.int:
        return index_number(int(str(expr.get_val())))
    if kind == ast_expr_type.id:
        name = expr.get_id().get_name()
        if name not in names:
            message = f"isl's AST names {name}, which is neither a loop nor a size"
            raise InternalError(message)
        return names[name]
    op = operation_name(expr)
    args = [c_affine(expr.get_op_arg(i), names) for i in range(expr.get_op_n_arg())]
    if op in _INFIX and len(args) == 2:
        found = _infix(_INFIX[op], *args)
        if found.ctype == I64 != common_type(*args):
            return _wide(expr, names)
        return found
    match op:
        case "minus":
            return index_negation(args[0])
        case "fdiv_q":
            nodes = tuple(arg.node for arg in args)
            return index_variable(Call(helper_name("floordiv", I64), nodes, I64))
        case "min" | "max":
            return index_variable(_nested(op, args))
        case "cond" | "select":
            cond, then, other = args
            return index_choice(cond.node, then, other)
        case _:
            msg = f"no C for isl's operation {op}"
            raise InternalError(msg)


def _wide(expr: AstExpr, names: Mapping[str, Lowered]) -> Lowered:
    """An expression in 64 bits from its first variable on: C then converts what follows."""
    op = operation_name(expr) if expr.get_type() == ast_expr_type.op else ""
    if op not in {"add", "sub", "mul"}:
        return explicit(c_affine(expr, names), I64)
    args = [c_affine(expr.get_op_arg(k), names) for k in (0, 1)]
    # what starts with a minus goes behind the other operand
    second = expr.get_op_arg(0).get_type() == ast_expr_type.int or is_negative(args[0].node)
    args[second] = _wide(expr.get_op_arg(int(second)), names)
    return _infix(_INFIX[op], *args)


def _infix(sign: str, left: Lowered, right: Lowered) -> Lowered:
    if sign == "+" and not is_negative(right.node):
        node = _negated(left.node)
        if node is not None:
            low, high = left.bounds
            positive = replace(left, node=node, bounds=(-high, -low))
            if left.ctype == I64 or is_inside(positive.bounds, left.ctype):
                return index_operation("-", right, positive)
    if sign in _ARITHMETIC:
        return index_operation(sign, left, right)
    if sign in _LOGICAL:
        return Lowered(joined(sign, left.node, right.node), BOOL, (0, 1))
    if not (is_inside(left.bounds, I64) and is_inside(right.bounds, I64)):
        return _beyond(sign, left, right)
    return Lowered(Binary(sign, left.node, right.node), BOOL, (0, 1))


def _negated(node: Expr) -> Expr | None:
    """What a term is the negative of: ``2 * i`` of ``-2 * i``; nothing where it has no sign.

    C rounds quotients towards zero, so that the sign of a quotient or a remainder is its first
    operand's.
    """
    match node:
        case Unary(sign="-", operand=operand):
            return operand
        case Const(value=value) if value < 0:
            return number(-int(value))
        case Binary(sign="*" | "/" | "%" as sign, left=left, right=right):
            first = _negated(left)
            return None if first is None else Binary(sign, first, right)
        case _:
            return None


def _beyond(sign: str, left: Lowered, right: Lowered) -> Lowered:
    """A comparison with a number that no variable has: C would compare without signs."""
    op = "eq" if sign == "==" else "lt" if len(sign) == 1 else "le"
    first, second = (right, left) if sign[0] == ">" else (left, right)
    found = decided(op, first.bounds, second.bounds)
    if found is None:
        message = f"a comparison in more than 64 bits: {left.bounds} {sign} {right.bounds}"
        raise InternalError(message)
    value = int(found)
    return Lowered(number(value), BOOL, (value, value))


def _nested(name: str, args: list[Lowered]) -> Expr:
    """``min`` of any number of operands by the helper of two."""
    result = args[-1].node
    for arg in reversed(args[:-1]):
        result = Call(helper_name(name, I64), (arg.node, result), I64)
    return result


def constant_bytes(extents: tuple[PwAff, ...], element: int) -> int | None:
    """The bytes of so many elements; ``None`` where sizes decide."""
    result = element
    for extent in extents:
        value = constant_value(extent)
        if value is None:
            return None
        result *= max(value, 1)
    return result
