"""Why code is declined: the part of it to point at, the reason, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.errors import UnsupportedError
from polyopt.frontend.c.lower.scope import (
    IteratorVar,
    Parameter,
    Pending,
    Program,
    Substituted,
    Variable,
)
from polyopt.frontend.c.syntax.nodes import base_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.errors import PolyoptError
    from polyopt.frontend.c.lower.expressions import Lowering
    from polyopt.frontend.c.syntax.locations import Locator

#: what lets data decide on control and elements
_STATE = "or state #pragma polyopt inbounds, as marked regions (#pragma scop) do"
_GENERAL = "affine means sums of iterators and sizes times constants, with / and % by constants"

#: node class -> (what it is called, what would help)
_UNSUPPORTED: dict[str, tuple[str, str]] = {
    "While": ("a while loop", "write it as for (int i = lo; i < hi; i++) with affine bounds"),
    "DoWhile": ("a do-while loop", "write it as for (int i = lo; i < hi; i++) with affine bounds"),
    "Goto": ("goto", "use loops and if"),
    "Label": ("a label", "use loops and if"),
    "Break": ("break", "put the condition into the loop bound, or guard the rest with if"),
    "Continue": ("continue", "guard the rest of the body with if"),
    "Switch": ("switch", "use if and else"),
    "Case": ("case", "use if and else"),
    "StructRef": ("a struct member", "use one array per field"),
    "FuncDef": ("a nested function", "move it out of the function"),
    "InitList": ("an initialiser list", "initialise fixed-size local arrays or plain scalars"),
    "CompoundLiteral": ("a compound literal", "use a local variable"),
    "Assignment": ("an assignment within an expression", "make it a statement of its own"),
    "ExprList": ("a comma expression", "use separate statements"),
    "FuncCall": ("a call for its effect", "only math functions within expressions are taken"),
    "Struct": ("a struct", "use one array per field"),
    "Union": ("a union", "use one array per field"),
    "Enum": ("an enum", "use #define for constants"),
    "Typedef": ("a typedef inside the function", "move it to the top of the file"),
}


def unsupported(
    locator: Locator,
    node: c_ast.Node,
    *,
    stated: bool = True,
    stepped: Mapping[str, str] | None = None,
) -> PolyoptError:
    """The error for a construct that is not taken at all.

    Without ``stated``, nothing says yet that data may decide on control. ``stepped`` says why
    variables have no closed form.
    """
    name = type(node).__name__
    what, hint = _UNSUPPORTED.get(name, (f"this construct ({name})", "rewrite it with for and if"))
    if isinstance(node, c_ast.UnaryOp):
        what, hint = _operator(node.op)
        stepping = base_of(node.expr)
        reason = (stepped or {}).get(stepping)
        if reason is not None:
            msg = f"{what} is not taken where {stepping!r} has no closed form: {reason}"
            return locator.error(UnsupportedError, node, msg, hint=hint)
    if not stated and isinstance(node, (c_ast.While, c_ast.DoWhile)):
        hint = f"{hint}; {_STATE}"
    return locator.error(UnsupportedError, node, f"{what} is not taken", hint=hint)


def _operator(op: str) -> tuple[str, str]:
    if op in {"++", "--", "p++", "p--"}:
        return f"{op.strip('p')} within an expression", "make it a statement of its own"
    if op == "*":
        return "a pointer dereference", "use a subscript: a[i]"
    if op == "&":
        return "taking an address", "name the array's element itself"
    return op, "write the number itself" if op == "sizeof" else "rewrite the expression"


def unset(program: Program, node: c_ast.ID, pending: Pending) -> PolyoptError:
    """The error for a read of a local that has no value there."""
    del pending
    if node.name in program.usage.iterated:
        msg = f"the iterator {node.name!r} is used outside its loop"
        hint = "write the value it has then, such as its bound"
    else:
        msg, hint = f"{node.name!r} has no value here", "give it one where it is declared"
    return program.locator.error(UnsupportedError, node, msg, hint=hint)


def culprit(lowering: Lowering, node: c_ast.Node, what: str) -> tuple[c_ast.Node, str, str]:
    """The smallest part of an expression that is not affine, why, and a hint."""
    for child in _operands(node):
        value = lowering.lower(child)
        if lowering.form(value) is None:
            return culprit(lowering, child, what)
    known = lowering.program.inbounds
    match node:
        case c_ast.BinaryOp():
            return (node, *_operation(lowering, node, what))
        case c_ast.ArrayRef():
            data = base_of(node) or "this"
            hint = "only iterators and sizes may decide this"
            return node, f"{data!r} is data", hint if known else f"{hint}; {_STATE}"
        case c_ast.ID():
            return (node, *_name(lowering, node))
        case c_ast.Constant():
            return node, f"{node.value} is not an integer", "use an integer"
        case c_ast.FuncCall():
            return node, "the result of a call is data", _GENERAL
        case c_ast.Cast():
            return node, "this conversion may change the value", "use int or long"
        case c_ast.TernaryOp():
            return node, "the condition of ?: depends on data", _GENERAL
        case _:
            return node, "this may wrap or depends on data", _GENERAL


def _operands(node: c_ast.Node) -> list[c_ast.Node]:
    match node:
        case c_ast.BinaryOp():
            return [node.left, node.right]
        case c_ast.UnaryOp() | c_ast.Cast():
            return [node.expr]
        case c_ast.TernaryOp():
            return [node.iftrue, node.iffalse]
        case c_ast.FuncCall() if node.args is not None:
            return list(node.args.exprs)
        case _:
            return []


def _name(lowering: Lowering, node: c_ast.ID) -> tuple[str, str]:
    match lowering.env.get(node.name):
        case Variable(type=type_) if type_.is_float:
            return f"{node.name!r} is of type {type_.c_name}", "use an integer"
        case Variable(argument=True):
            return f"{node.name!r} is changed by the program", "use a size that stays as it is"
        case Variable():
            reason = lowering.program.stepped.get(node.name)
            return (
                f"{node.name!r} is computed by the program" + (f": {reason}" if reason else ""),
                "a local is taken that is set to affine values, or moved by the same each time"
                if reason
                else "a local that is set once, to an affine value, is taken",
            )
        case IteratorVar() | Parameter() | Substituted():
            return f"{node.name!r} may wrap below zero here", "use signed integers for sizes"
        case _:
            return f"{node.name!r} is data", _GENERAL


def _operation(lowering: Lowering, node: c_ast.BinaryOp, what: str) -> tuple[str, str]:
    value = lowering.lower(node)
    if value.type.kind == "uint" and node.op in {"-", "<", "<=", ">", ">=", "==", "!="}:
        return (
            "unsigned arithmetic may wrap below zero here",
            "use signed integers for sizes and iterators",
        )
    match node.op:
        case "*":
            hint = "one factor has to be a constant; pass the product as a size of its own"
            if "subscript" in what:
                hint = "declare an array of more dimensions, such as a[H][W], and use a[i][j]"
            return "a product of two variables", hint
        case "/" | "%":
            return (
                f"{node.op!r} by something that is not a constant",
                "divide by a constant; by a size, what is from 0 to less than three times it",
            )
        case "<<" | ">>":
            return "a shift by something that is not a constant", "shift by a constant"
        case _:
            return f"{node.op!r} of these operands", _GENERAL
