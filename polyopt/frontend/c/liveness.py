"""What becomes of a variable around a region: whether its value is used, and where it belongs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.usage import names_in, nodes

if TYPE_CHECKING:
    from collections.abc import Sequence


_JUMPS = (c_ast.Break, c_ast.Continue, c_ast.Goto)


def mentions(node: c_ast.Node | None, name: str) -> bool:
    """Whether a name occurs as an identifier below a node."""
    return node is not None and name in names_in(node)


def first_use(items: Sequence[c_ast.Node], name: str) -> str:
    """What happens first to a variable when the items run: ``read``, ``write``, or nothing.

    ``write`` only where an assignment surely comes before any read; ``maybe`` where none reads
    the old value, but not all ways through the items write a new one. Jumps out of the items
    are taken to lead to where nothing is read.
    """
    result = ""
    for item in items:
        found = _first(item, name)
        if found == "hidden":
            return result
        if found in {"read", "write"}:
            return found
        result = found or result
    return result


def is_read(items: Sequence[c_ast.Node], name: str) -> bool:
    """Whether a variable may be read before it is written when the items run.

    Jumps from one item may lead to any that comes later.
    """
    for position, item in enumerate(items):
        found = _first(item, name)
        if found == "read":
            return True
        if found in {"write", "hidden"}:
            jumps = any(isinstance(n, _JUMPS) for i in items[: position + 1] for n in nodes(i))
            return jumps and is_read(items[position + 1 :], name)
    return False


def _first(node: c_ast.Node, name: str) -> str:
    match node:
        case c_ast.Decl() if node.name == name:
            return "read" if mentions(node.init, name) else "hidden"
        case c_ast.Assignment(rvalue=c_ast.Assignment() as inner):
            last = c_ast.Assignment(node.op, node.lvalue, inner.lvalue, node.coord)
            return _first(inner, name) or _first(last, name)
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=target)) if target == name:
            return "read" if mentions(node.rvalue, name) else "write"
        case c_ast.Compound():
            return first_use(node.block_items or [], name)
        case c_ast.For(init=c_ast.DeclList() as init) if any(d.name == name for d in init.decls):
            return "read" if any(mentions(d.init, name) for d in init.decls) else ""
        case c_ast.For(init=c_ast.Assignment() as init) if mentions(init, name):
            return _first(init, name)
        case c_ast.For() | c_ast.While():
            return _first_in_loop(node, name)
        case c_ast.If() if not mentions(node.cond, name):
            found = {_first(b, name) if b is not None else "" for b in (node.iftrue, node.iffalse)}
            if "read" in found:
                return "read"
            return "write" if found == {"write"} else "maybe" if found != {""} else ""
        case _:
            return "read" if mentions(node, name) else ""


def _first_in_loop(node: c_ast.For | c_ast.While, name: str) -> str:
    """As ``_first``, for a loop whose body may not run at all."""
    parts = (node.init, node.cond) if isinstance(node, c_ast.For) else (node.cond,)
    if any(mentions(part, name) for part in parts):
        return "read"
    inside = _first(node.stmt, name)
    step = node.next if isinstance(node, c_ast.For) else None
    sure = inside == "write" and not any(isinstance(n, c_ast.Continue) for n in nodes(node.stmt))
    if inside == "read" or (not sure and mentions(step, name)):
        return "read"
    return "maybe" if inside else ""


def address_taken(root: c_ast.Node, name: str) -> bool:
    """Whether ``&name`` occurs: then others may change it."""
    return any(
        isinstance(node, c_ast.UnaryOp)
        and node.op == "&"
        and isinstance(node.expr, c_ast.ID)
        and node.expr.name == name
        for node in nodes(root)
    )


def escapes(root: c_ast.Node, decl: c_ast.Decl) -> bool:
    """Whether a variable's address may be known elsewhere: by ``&``, or by an array's name."""
    rank, type_ = 0, decl.type
    while isinstance(type_, c_ast.ArrayDecl):
        rank, type_ = rank + 1, type_.type
    if rank == 0:
        return address_taken(root, decl.name)
    uses = sum(isinstance(n, c_ast.ID) and n.name == decl.name for n in nodes(root))
    elements = sum(_is_element(n, decl.name, rank) for n in nodes(root))
    addresses = (n.expr for n in nodes(root) if isinstance(n, c_ast.UnaryOp) and n.op == "&")
    return uses > elements or any(mentions(part, decl.name) for part in addresses)


def _is_element(node: c_ast.Node, name: str, rank: int) -> bool:
    """Whether a node is an array's element: its name with all subscripts."""
    for _ in range(rank):
        if not isinstance(node, c_ast.ArrayRef):
            return False
        node = node.name
    return isinstance(node, c_ast.ID) and node.name == name


def sink(items: Sequence[c_ast.Node], decl: c_ast.Decl) -> list[c_ast.Node]:
    """The items with a scalar declared in the innermost loop body that holds all its uses.

    Its value must not be needed before or after the items. Each iteration of the loops around
    then has a variable of its own, so that no order is forced by sharing one.
    """
    users = [k for k, item in enumerate(items) if mentions(item, decl.name)]
    if len(users) != 1:
        return list(items)
    changed = _sunk(items[users[0]], decl)
    return [changed if k == users[0] else item for k, item in enumerate(items)]


def _sunk(node: c_ast.Node, decl: c_ast.Decl) -> c_ast.Node:
    name = decl.name
    match node:
        case c_ast.For():
            if any(mentions(part, name) for part in (node.init, node.cond, node.next)):
                return node
            body = _sunk_body(node.stmt, decl)
            if body is node.stmt:
                return node
            return c_ast.For(node.init, node.cond, node.next, body, node.coord)
        case c_ast.Compound():
            return _sunk_body(node, decl)
        case _:
            return node


def _sunk_body(body: c_ast.Node, decl: c_ast.Decl) -> c_ast.Node:
    items = list(body.block_items or []) if isinstance(body, c_ast.Compound) else [body]
    users = [item for item in items if mentions(item, decl.name)]
    if len(users) == 1 and isinstance(users[0], (c_ast.For, c_ast.Compound)):
        inner = sink(items, decl)
        if inner != items:
            return c_ast.Compound(inner, body.coord)
    if first_use(items, decl.name) not in {"write", "maybe"}:  # an old value may be read
        return body
    local = c_ast.Decl(decl.name, [], [], [], [], decl.type, None, None, decl.coord)
    return c_ast.Compound([local, *items], body.coord)
