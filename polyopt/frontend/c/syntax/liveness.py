"""What becomes of a variable around a region: whether its value is used, and where it belongs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.usage import names_in, nodes

if TYPE_CHECKING:
    from collections.abc import Sequence


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
            return any(map(leaves, items[: position + 1])) and is_read(items[position + 1 :], name)
    return False


def leaves(node: c_ast.Node) -> bool:
    """Whether a statement may jump to another place than its own end."""
    inner: set[type[c_ast.Node]] = set()
    match node:
        case c_ast.Break() | c_ast.Continue() | c_ast.Goto():
            return True
        case c_ast.For() | c_ast.While() | c_ast.DoWhile():
            inner = {c_ast.Break, c_ast.Continue}
        case c_ast.Switch():
            inner = {c_ast.Break}
        case _:
            pass
    return bool(_jumps(node) - inner)


def continues(node: c_ast.Node) -> bool:
    """Whether a statement has a ``continue`` of the loop around it."""
    if isinstance(node, c_ast.Continue):
        return True
    if isinstance(node, (c_ast.For, c_ast.While, c_ast.DoWhile)):
        return False
    return any(continues(child) for _, child in node.children())


def _jumps(node: c_ast.Node) -> set[type[c_ast.Node]]:
    """The kinds of jumps below a statement that may leave its parts."""
    result: set[type[c_ast.Node]] = set()
    for _, child in node.children():
        match child:
            case c_ast.Break() | c_ast.Continue() | c_ast.Goto():
                result.add(type(child))
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                result |= _jumps(child) - {c_ast.Break, c_ast.Continue}
            case c_ast.Switch():
                result |= _jumps(child) - {c_ast.Break}
            case _:
                result |= _jumps(child)
    return result


def _first(node: c_ast.Node | None, name: str) -> str:
    """What happens first to a variable when a statement runs or an expression is evaluated.

    As ``first_use``; ``hidden`` after a declaration of another variable of that name.
    """
    match node:
        case None:
            return ""
        case c_ast.ID():
            return "read" if node.name == name else ""
        case c_ast.Decl() if node.name == name:
            return "read" if mentions(node.init, name) else "hidden"
        case c_ast.Assignment():
            return _first_of_assignment(node, name)
        case c_ast.Compound():
            return first_use(node.block_items or [], name)
        case c_ast.For() | c_ast.While() | c_ast.DoWhile():
            return _first_of_loop(node, name)
        case _:
            return _first_of_parts(node, name)


def _first_of_parts(node: c_ast.Node, name: str) -> str:
    """As ``_first``, for what does nothing to a variable itself."""
    match node:
        case c_ast.If() | c_ast.TernaryOp():
            return _then(_first(node.cond, name), _either(node.iftrue, node.iffalse, name))
        case c_ast.BinaryOp(op="&&" | "||"):
            return _then(_first(node.left, name), _maybe(_first(node.right, name)))
        case c_ast.Switch():
            return _then(_first(node.cond, name), _first_of_cases(node.stmt, name))
        case c_ast.Label() | c_ast.Case() | c_ast.Default() | c_ast.ExprList() | c_ast.DeclList():
            return _in_order([child for _, child in node.children()], name)
        case c_ast.UnaryOp(op="sizeof"):
            return ""
        case _:
            return _unordered([child for _, child in node.children()], name)


def _in_order(items: Sequence[c_ast.Node], name: str) -> str:
    result = ""
    for item in items:
        result = _then(result, _first(item, name))
    return result


def _unordered(items: Sequence[c_ast.Node], name: str) -> str:
    """Of operands that may be evaluated in any order: a read of one may be the first."""
    found = {_first(item, name) for item in items}
    return next((use for use in ("read", "write", "maybe") if use in found), "")


def _then(one: str, other: str) -> str:
    """What happens first where one thing happens after the other."""
    return one if one in {"read", "write", "hidden"} else other or one


def _maybe(use: str) -> str:
    """A use that may not happen."""
    return "maybe" if use == "write" else use


def _either(one: c_ast.Node | None, other: c_ast.Node | None, name: str) -> str:
    found = {_first(one, name), _first(other, name)}
    if "read" in found:
        return "read"
    return "write" if found == {"write"} else "maybe" if found != {""} else ""


def _first_of_assignment(node: c_ast.Assignment, name: str) -> str:
    target = node.lvalue
    if not isinstance(target, c_ast.ID) or target.name != name:
        return _unordered([node.lvalue, node.rvalue], name)
    value = _first(node.rvalue, name)
    return "read" if node.op != "=" or value == "read" else "write"


def _first_of_loop(node: c_ast.For | c_ast.While | c_ast.DoWhile, name: str) -> str:
    """As ``_first``; the body of ``for`` and ``while`` may not run at all."""
    start = _first(node.init, name) if isinstance(node, c_ast.For) else ""
    if start in {"read", "write", "hidden"}:
        return "" if start == "hidden" else start
    jumps = _jumps(node)
    body = _first(node.stmt, name)
    body = "" if body == "hidden" else body
    after = _first(node.next if isinstance(node, c_ast.For) else None, name)
    if isinstance(node, c_ast.DoWhile):
        body = _maybe(body) if jumps else body
        return _then(start, _then(body, _first(node.cond, name)))
    # what comes after the body is not reached before a write that no jump leaves out
    again = body if body == "write" and not jumps & {c_ast.Continue, c_ast.Goto} else ""
    inside = "read" if body == "read" or (not again and after == "read") else _maybe(body or after)
    return _then(start, _then(_first(node.cond, name), inside))


def _first_of_cases(body: c_ast.Node, name: str) -> str:
    """Of a ``switch``: what follows any of its labels up to a ``break``, or nothing, is run."""
    items = list(body.block_items or []) if isinstance(body, c_ast.Compound) else [body]
    found = {_first_of_run(items[k:], name) for k in range(len(items))}
    if "read" in found:
        return "read"
    complete = any(isinstance(item, c_ast.Default) for item in items)
    return "write" if complete and found == {"write"} else "maybe" if found - {"", "hidden"} else ""


def _first_of_run(items: Sequence[c_ast.Node], name: str) -> str:
    """As ``_in_order``, of the items of a ``switch`` from one of its labels on."""
    result, jumped = "", False
    for item in items:
        parts = item.stmts if isinstance(item, (c_ast.Case, c_ast.Default)) else [item]
        for part in parts or []:
            if isinstance(part, c_ast.Break):
                return result
            jumped = jumped or leaves(part)
            use = _first(part, name)
            result = _then(result, _maybe(use) if jumped else use)
    return result


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
    """The items with a scalar declared in the innermost loop bodies that hold its uses.

    Its value must not be needed before or after the items. Each iteration of the loops around
    then has a variable of its own, so that no order is forced by sharing one: neither by
    iterations nor by several loops, of which none reads what another one has left.
    """
    changed = [_sunk(item, decl) if mentions(item, decl.name) else item for item in items]
    users = [k for k, item in enumerate(items) if mentions(item, decl.name)]
    return list(items) if any(changed[k] is items[k] for k in users) else changed


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
    if all(isinstance(user, (c_ast.For, c_ast.Compound)) for user in users):
        inner = sink(items, decl)
        if inner != items:
            return c_ast.Compound(inner, body.coord)
    if first_use(items, decl.name) not in {"write", "maybe"}:  # an old value may be read
        return body
    local = c_ast.Decl(decl.name, [], [], [], [], decl.type, None, None, decl.coord)
    return c_ast.Compound([local, *items], body.coord)
