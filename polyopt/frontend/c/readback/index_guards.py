"""Checks of subscripts in generated C: what they have to be, and that none is missing.

``if ((uint64_t)key[i] >= (uint64_t)n) { return 8; }`` before ``count[key[i]]``, in one block: the
kernel ends without results. What is left of a program's meaning is the same without them.
"""

# The parser's trees have no types.
# pyright: basic, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.lower.entry import functions_of
from polyopt.frontend.c.readback.declared import arrays_among, names_in
from polyopt.frontend.c.syntax.nodes import text_of
from polyopt.frontend.c.syntax.usage import nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from polyopt.frontend.c.readback.declared import Shape
    from polyopt.frontend.c.readback.emitted import Emitted
    from polyopt.ir.indices import IndexArray

#: the status that tells of it
_END = "return 8;"
#: a load, and what it is less than
Guards = frozenset[tuple[str, str]]


def guarded(node: c_ast.Node) -> tuple[c_ast.Node, str] | None:
    """The load that a test checks, and what it has to be less than; ``None`` for another test."""
    if not isinstance(node, c_ast.If) or node.iffalse is not None:
        return None
    body = node.iftrue.block_items or [] if isinstance(node.iftrue, c_ast.Compound) else []
    test = node.cond
    if [text_of(item) for item in body] != [_END] or not isinstance(test, c_ast.BinaryOp):
        return None
    sides = (_unsigned(test.left), _unsigned(test.right))
    changes = any(isinstance(n, (c_ast.FuncCall, c_ast.Assignment)) for n in nodes(test))
    if test.op != ">=" or None in sides or changes or [*_assigned(test)]:
        return None
    return (sides[0], text_of(sides[1])) if isinstance(sides[0], c_ast.ArrayRef) else None


def _unsigned(node: c_ast.Node) -> c_ast.Node | None:
    is_cast = isinstance(node, c_ast.Cast) and text_of(node.to_type) == "uint64_t"
    return node.expr if is_cast else None


def unguarded(emitted: Emitted, indices: Iterable[IndexArray]) -> str:
    """A load of an index array that is not checked where it is used, or a check of another, as
    text; empty if there is none. Of each index array all loads have to be subscripts of its target,
    below its extent, and each check has to be of one of them."""
    function = functions_of(emitted.tree)[emitted.name]
    shapes = arrays_among(function)
    left = {guard for node in nodes(function.body) if (guard := _text(node))}
    for found in indices:
        if found.target not in shapes or found.array not in shapes:
            return found.array
        for load in _open(function.body, found, shapes[found.target], frozenset()):
            if isinstance(load, c_ast.ArrayRef):
                return text_of(load)
            left.discard(load)
    return next(iter(sorted(left)), ("", ""))[0]


def _text(node: c_ast.Node) -> tuple[str, str] | None:
    found = guarded(node)
    return None if found is None else (text_of(found[0]), found[1])


def _open(
    node: c_ast.Node, found: IndexArray, shape: Shape, known: Guards
) -> Iterator[c_ast.ArrayRef | tuple[str, str]]:
    """The loads of an index array that no check before them is about, and the checks of others."""
    if isinstance(node, c_ast.Compound):
        items = node.block_items or []
        assigned = {name for item in items for name in _assigned(item)}
        for item in items:
            guard = guarded(item)
            if guard is None:
                yield from _open(item, found, shape, known)
            elif not assigned & {*names_in(guard[0])}:
                known |= {(text_of(guard[0]), guard[1])}
        return
    if isinstance(node, c_ast.ArrayRef):
        base, subscripts = _taken_apart(node)
        if base == found.array:
            yield node
            return
        part = _bare(subscripts[found.axis]) if len(subscripts) > found.axis else None
        is_one = base == found.target and isinstance(part, c_ast.ArrayRef)
        guard = text_of(part), shape[1][found.axis]
        if is_one and guard in known:
            yield guard
            del subscripts[found.axis]
        for inner in subscripts:
            yield from _open(inner, found, shape, known)
        return
    for _, child in node.children():
        yield from _open(child, found, shape, known)


def _assigned(node: c_ast.Node) -> Iterator[str]:
    """The variables that a statement changes."""
    for inner in nodes(node):
        if isinstance(inner, c_ast.Assignment) and isinstance(inner.lvalue, c_ast.ID):
            yield inner.lvalue.name
        if isinstance(inner, c_ast.UnaryOp) and inner.op in {"p++", "++", "p--", "--"}:
            yield from names_in(inner.expr)
        if isinstance(inner, c_ast.Decl):
            yield inner.name


def _taken_apart(node: c_ast.Node) -> tuple[str, list[c_ast.Node]]:
    subscripts: list[c_ast.Node] = []
    while isinstance(node, c_ast.ArrayRef):
        subscripts.insert(0, node.subscript)
        node = node.name
    return getattr(node, "name", ""), subscripts


def _bare(node: c_ast.Node) -> c_ast.Node:
    while isinstance(node, c_ast.Cast):
        node = node.expr
    return node
