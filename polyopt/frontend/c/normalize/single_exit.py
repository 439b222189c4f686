"""Functions that return from several places, as ones that return at their end.

rewrite: ``if (x < a) return a; return x;`` -> ``x < a ? a : x``, where there is nothing else; with
other statements -> ``if (x < a) r = a; else { ...; r = x; }``

*Does not handle* a ``return`` in a loop, and an ``if`` of which both branches may go on.
"""

# The parser's trees are made of parts that have no types.
# pyright: basic, reportCallIssue=false

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.nodes import cast
from polyopt.frontend.c.syntax.usage import names_in, nodes

if TYPE_CHECKING:
    from collections.abc import Sequence


def value_of(items: Sequence[c_ast.Node], type_: c_ast.Node) -> c_ast.Node | None:
    """What a body returns, as one expression of a type; ``None`` if it does more than choose."""
    first, rest = (items[0], items[1:]) if items else (None, ())
    if isinstance(first, c_ast.Return):
        return first.expr
    if not isinstance(first, c_ast.If):
        return None
    then, other = _items(first.iftrue), _items(first.iffalse)
    if not _returns(then):
        return None
    following = other if _returns(other) else [*other, *rest]
    one, two = value_of(then, type_), value_of(following, type_)
    if one is None or two is None:
        return None
    one, two = (cast(value, type_) for value in (one, two))
    return c_ast.TernaryOp(first.cond, one, two, first.coord)


def at_end(items: Sequence[c_ast.Node], result: str, type_: c_ast.Node) -> list[c_ast.Node] | None:
    """Statements that set ``result`` in place of returning; ``None`` where that is not simple."""
    made: list[c_ast.Node] = []
    for position, item in enumerate(items):
        if isinstance(item, c_ast.Return):
            if item.expr is not None:
                target = c_ast.ID(result, item.coord)
                made.append(c_ast.Assignment("=", target, cast(item.expr, type_), item.coord))
            return made
        if not _has_return(item):
            made.append(item)
            continue
        branched = _branched(item, items[position + 1 :], result, type_)
        return None if branched is None else [*made, branched]
    return made


def _branched(
    item: c_ast.Node, rest: Sequence[c_ast.Node], result: str, type_: c_ast.Node
) -> c_ast.If | None:
    """An ``if`` that returns somewhere, with what follows it in the branch that goes on."""
    if not isinstance(item, c_ast.If):
        return None
    branches = [_items(item.iftrue), _items(item.iffalse)]
    goes_on = [branch for branch in branches if not _returns(branch)]
    if len(goes_on) > 1 and rest:
        return None
    made: list[c_ast.Node] = []
    for branch in branches:
        following = [] if _returns(branch) else list(rest)
        declared = {n.name for n in branch if isinstance(n, c_ast.Decl)}
        if any(declared & names_in(node) for node in following):
            return None  # they would mean the branch's own
        body = at_end([*branch, *following], result, type_)
        if body is None:
            return None
        made.append(c_ast.Compound(body, item.coord))
    return c_ast.If(item.cond, made[0], made[1], item.coord)


def _items(node: c_ast.Node | None) -> list[c_ast.Node]:
    if node is None:
        return []
    return list(node.block_items or []) if isinstance(node, c_ast.Compound) else [node]


def _has_return(node: c_ast.Node) -> bool:
    return any(isinstance(inner, c_ast.Return) for inner in nodes(node))


def _returns(items: Sequence[c_ast.Node]) -> bool:
    """Whether statements always end in a ``return``."""
    last = items[-1] if items else None
    if isinstance(last, c_ast.If):
        return _returns(_items(last.iftrue)) and _returns(_items(last.iffalse))
    return isinstance(last, c_ast.Return)
