"""Loops between least and largest of several bounds, as conditions that all hold.

A choice between bounds makes a set in as many pieces as there are ways to choose; a conjunction has
one.

rewrite: ``for (i = max(a, b); i <= min(c, d); i++) s;`` ->
``for (i = a; i <= c && i <= d; i++) if (i >= b) s;``
"""

# The parser's trees are copied and changed by the names of their parts, which have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.nodes import binary, cast, floored, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    #: Whether a node is a call of what gives the least, or the largest, of two integers.
    Is = Callable[[c_ast.Node, str], bool]


#: what helpers return, as the parser's printer writes it
_MEANINGS = {
    "min": "(a < b) ? (a) : (b)",
    "max": "(a < b) ? (b) : (a)",
    "floordiv": "(a / b) - (((a % b) != 0) & ((a < 0) != (b < 0)))",
}


#: what those of floats return that is not the same: the second operand where either is NaN
_OF_FLOATS = {"max": "(a > b) ? (a) : (b)"}


def means(helper: c_ast.FuncDef, operation: str, type_: str) -> bool:
    """Whether a helper's text is that of what it is called after, of numbers of a type."""
    known = _MEANINGS | _OF_FLOATS if type_.startswith("f") else _MEANINGS
    return text_of(helper.body) == f"{{\n  return {known.get(operation)};\n}}\n"


def helped(
    helper: c_ast.FuncDef | None,
    operation: str,
    type_: str,
    values: list[c_ast.Node],
    node: c_ast.FuncCall,
) -> c_ast.Node:
    """A helper's call in the terms that the frontend has for it, once its text is checked."""
    call = c_ast.FuncCall(node.name, c_ast.ExprList(values), node.coord)
    if helper is None or not means(helper, operation, type_):
        return call
    if operation == "floordiv":
        by_number = type_ == "i64" and isinstance(values[1], c_ast.Constant)
        return floored(*values) if by_number else call
    if type_ == "i64":  # in bounds of loops: the choice itself gives simpler sets
        return call
    extremum = {"f32": f"f{operation}f", "f64": f"f{operation}"}.get(type_, operation)
    kind = helper.decl.type.type
    if not type_.startswith("f"):
        values = [cast(value, kind) for value in values]
    return c_ast.FuncCall(c_ast.ID(extremum), c_ast.ExprList(values), node.coord)


def in_conjunctions(loop: c_ast.For, is_call: Is) -> c_ast.For:
    """The loop with a condition for each of its bounds; others than those of ours are as they are.

    *Requires* one iterator, declared in the loop; for the start also that it goes up by one.
    """
    changed = copy.copy(loop)
    changed.cond = _upper(loop.cond, is_call)
    if not isinstance(loop.init, c_ast.DeclList) or getattr(loop.next, "op", "") != "p++":
        return changed
    (decl,) = loop.init.decls
    first, *others = _operands(decl.init, "max", is_call)
    if others:
        start = copy.copy(decl)
        start.init = first
        changed.init = c_ast.DeclList([start], loop.init.coord)
        for bound in others:
            test = binary(">=", c_ast.ID(decl.name, decl.coord), bound)
            changed.stmt = c_ast.Compound([c_ast.If(test, changed.stmt, None, decl.coord)])
    return changed


def _upper(cond: c_ast.Node | None, is_call: Is) -> c_ast.Node | None:
    if not isinstance(cond, c_ast.BinaryOp) or cond.op not in {"<", "<="}:
        return cond
    first, *others = _operands(cond.right, "min", is_call)
    result = binary(cond.op, cond.left, first)
    for bound in others:
        result = binary("&&", result, binary(cond.op, cond.left, bound))
    return result


def _operands(node: c_ast.Node, operation: str, is_call: Is) -> list[c_ast.Node]:
    """What the least or largest is of."""
    if not is_call(node, operation):
        return [node]
    return [part for arg in node.args.exprs for part in _operands(arg, operation, is_call)]
