"""What a function does with its names, found before lowering: sizes, iterators, assignments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.loop_headers import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_RELATIONAL = {"<", "<=", ">", ">=", "==", "!="}


@dataclass(frozen=True)
class Usage:
    """Names by how the program uses them; scopes are not told apart, which only costs precision."""

    #: used in a bound, subscript, extent, or condition on sizes
    affine: frozenset[str]
    #: name -> number of assignments outside loop headers
    assigned: dict[str, int]
    #: variables of ``for`` headers
    iterated: frozenset[str]


def nodes(root: c_ast.Node | None) -> Iterator[c_ast.Node]:
    """All nodes of a tree, parents first, without recursion."""
    waiting = [root] if root is not None else []
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for _, child in reversed(node.children())]


def names_in(root: c_ast.Node | None) -> set[str]:
    """Identifiers read in an expression, those of called functions left out."""
    found: set[str] = set()
    for node in nodes(root):
        if isinstance(node, c_ast.ID):
            found.add(node.name)
    return found


def written_name(node: c_ast.Node) -> str | None:
    """The name of the variable or array that a node itself assigns to."""
    target: c_ast.Node | None = None
    if isinstance(node, c_ast.Assignment):
        target = node.lvalue
    elif isinstance(node, c_ast.UnaryOp) and node.op in {"p++", "p--", "++", "--"}:
        target = node.expr
    while isinstance(target, c_ast.ArrayRef):
        target = target.name
    return target.name if isinstance(target, c_ast.ID) else None


def written_names(roots: Iterable[c_ast.Node]) -> set[str]:
    """The variables and arrays that are assigned anywhere below the roots."""
    found = (written_name(node) for root in roots for node in nodes(root))
    return {name for name in found if name is not None}


def usage_of(roots: Iterable[c_ast.Node]) -> Usage:
    """Collect the usage of all names below the roots (a function and its pragmas)."""
    everything = [node for root in roots for node in nodes(root)]
    headers = [node for node in everything if isinstance(node, c_ast.For)]
    in_headers = {id(part) for loop in headers for part in _header_writes(loop)}
    iterated = {name for loop in headers if (name := iterator_of(loop)) is not None}
    assigned: dict[str, int] = {}
    for node in everything:
        target = _target(node)
        if target is not None and id(node) not in in_headers:
            assigned[target] = assigned.get(target, 0) + 1
    data = {name for name, count in assigned.items() if count and name not in iterated}
    affine: set[str] = set()
    for node in everything:
        affine |= _affine_names(node, data)
    return Usage(_close(affine, everything), assigned, frozenset(iterated))


def iterator_of(loop: c_ast.For) -> str | None:
    """The variable that a ``for`` header sets."""
    match loop.init:
        case c_ast.DeclList() if len(loop.init.decls) == 1:
            return loop.init.decls[0].name
        case c_ast.Assignment() if isinstance(loop.init.lvalue, c_ast.ID):
            return loop.init.lvalue.name
        case _:
            return None


def _header_writes(loop: c_ast.For) -> Iterator[c_ast.Node]:
    for part in (loop.init, loop.next):
        yield from nodes(part)
    if counted(loop, iterator_of(loop)) is not None:
        yield from nodes(loop.cond)


def _target(node: c_ast.Node) -> str | None:
    match node:
        case c_ast.Assignment() if isinstance(node.lvalue, c_ast.ID):
            return node.lvalue.name
        case c_ast.UnaryOp() if node.op in {"p++", "p--", "++", "--", "&"}:
            return node.expr.name if isinstance(node.expr, c_ast.ID) else None
        case _:
            return None


def _affine_names(node: c_ast.Node, data: set[str]) -> set[str]:
    match node:
        case c_ast.For():
            parts = (node.init, node.cond, node.next)
            return {name for part in parts for name in names_in(part)}
        case c_ast.ArrayRef():
            return names_in(node.subscript)
        case c_ast.ArrayDecl():
            return names_in(node.dim)
        case c_ast.If() | c_ast.TernaryOp():
            return {name for atom in _atoms(node.cond) for name in _condition_names(atom, data)}
        case c_ast.BinaryOp() if node.op in _RELATIONAL:
            return _condition_names(node, data)
        case _:
            return set()


def _atoms(cond: c_ast.Node | None) -> Iterator[c_ast.Node]:
    """The parts of a condition between ``&&``, ``||`` and ``!``."""
    waiting = [cond] if cond is not None else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, c_ast.BinaryOp) and node.op in {"&&", "||"}:
            waiting += [node.right, node.left]
        elif isinstance(node, c_ast.UnaryOp) and node.op == "!":
            waiting.append(node.expr)
        else:
            yield node


def _condition_names(atom: c_ast.Node, data: set[str]) -> set[str]:
    """The names in a part of a condition, if it touches no data."""
    names = names_in(atom)
    if names & data or any(isinstance(node, c_ast.ArrayRef) for node in nodes(atom)):
        return set()
    return names


def _close(affine: set[str], everything: list[c_ast.Node]) -> frozenset[str]:
    """With the names that the affine ones are computed from."""
    sources: dict[str, set[str]] = {}
    for node in everything:
        match node:
            case c_ast.Decl() if node.init is not None and node.name:
                sources.setdefault(node.name, set()).update(names_in(node.init))
            case c_ast.Assignment() if isinstance(node.lvalue, c_ast.ID):
                sources.setdefault(node.lvalue.name, set()).update(names_in(node.rvalue))
            case _:
                pass
    waiting = list(affine)
    while waiting:
        for name in sources.get(waiting.pop(), set()) - affine:
            affine.add(name)
            waiting.append(name)
    return frozenset(affine)
