"""Pieces of the parser's trees, made and changed."""

# The parser's trees are copied and changed by the names of their parts, which have no types.
# pyright: basic, reportAttributeAccessIssue=false, reportReturnType=false, reportCallIssue=false

from __future__ import annotations

import copy
import re

from pycparser import c_ast, c_generator

_TEXT = c_generator.CGenerator()


def text_of(node: c_ast.Node | None) -> str:
    """C as the parser's printer writes it; "" of nothing."""
    return "" if node is None else _TEXT.visit(node)


def called(call: c_ast.FuncCall) -> str:
    """The name of the function that a call names; "" where it names none."""
    return call.name.name if isinstance(call.name, c_ast.ID) else ""


def base_of(element: c_ast.Node) -> str:
    """The name of an element's array; "" of anything else."""
    while isinstance(element, c_ast.ArrayRef):
        element = element.name
    return element.name if isinstance(element, c_ast.ID) else ""


def binary(sign: str, left: c_ast.Node, right: c_ast.Node) -> c_ast.BinaryOp:
    """``left sign right``, where one of them stood."""
    return c_ast.BinaryOp(sign, left, right, left.coord or right.coord)


def renamed(node: c_ast.Node, name: str, new: str) -> c_ast.Node:
    """The tree with another name for one."""
    if isinstance(node, c_ast.ID):
        return c_ast.ID(new, node.coord) if node.name == name else node
    changed = copy.copy(node)
    for place, child in node.children():
        put(changed, place, renamed(child, name, new))
    return changed


def floored(value: c_ast.Node, by: c_ast.Node) -> c_ast.Node:
    """``floordiv_i64(value, by)`` for a positive constant, in C's own operations."""
    rest = binary("%", binary("+", binary("%", value, by), by), by)
    return binary("/", binary("-", value, rest), by)


def constant(value: int) -> c_ast.Node:
    """An integer."""
    return c_ast.Constant("int", str(value))


def integer(name: str, value: c_ast.Node) -> c_ast.Decl:
    """``int64_t name = value;``."""
    kind = c_ast.TypeDecl(name, [], None, c_ast.IdentifierType(["int64_t"]))
    return c_ast.Decl(name, [], [], [], [], kind, value, None, value.coord)


def cast(value: c_ast.Node, kind: c_ast.Node) -> c_ast.Cast:
    """``(kind)value``, where the value stood."""
    return c_ast.Cast(c_ast.Typename(None, [], None, kind, value.coord), value, value.coord)


def as_long(value: c_ast.Node) -> c_ast.Cast:
    """``(long)value``: the type that holds every index."""
    return cast(value, c_ast.TypeDecl(None, [], None, c_ast.IdentifierType(["long"])))


def put(node: c_ast.Node, name: str, child: c_ast.Node) -> None:
    """Put a child in the place that ``children`` gives a name to: ``left`` or ``exprs[1]``."""
    found = re.fullmatch(r"(\w+)\[(\d+)\]", name)
    if found is None:
        setattr(node, name, child)
        return
    listed = list(getattr(node, found[1]))
    listed[int(found[2])] = child
    setattr(node, found[1], listed)


def named_type(kind: c_ast.Node, name: str) -> c_ast.Node:
    """A nameless type as the type of a variable."""
    changed = copy.copy(kind)
    if isinstance(changed, c_ast.TypeDecl):
        changed.declname = name
    else:
        changed.type = named_type(kind.type, name)
    return changed
