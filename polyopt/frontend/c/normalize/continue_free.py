"""Loop bodies without ``continue``: what it skips is guarded instead.

rewrite: ``{ if (c) { a; continue; } b; }`` -> ``{ if (c) { a; } else { b; } }``

rewrite: ``{ if (c) { if (d) continue; a; } b; }`` ->
``{ if (c) { if (d) {} else { a; } } if (!(c && d)) { b; } }``, where ``a`` leaves the conditions as
they are; else ``b`` is written into each branch that goes on.

*Does not handle* a ``continue`` in a ``switch``, a rest that is too long to be written twice, and
branches that declare a name which the rest uses.
"""

# The parser's trees are made of parts that have no types.
# pyright: basic, reportCallIssue=false

from __future__ import annotations

from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.liveness import continues
from polyopt.frontend.c.syntax.usage import names_in, nodes, written_name

if TYPE_CHECKING:
    from collections.abc import Sequence

#: nodes of the parser's tree that a rest may have which is written twice, and how many of its
#: statements may skip what follows them: that is written twice again
MOST_NODES, MOST_SKIPS = 200, 2


def without_continue(body: c_ast.Node) -> c_ast.Node:
    """A loop's body without ``continue``; the body itself where that is not simple."""
    if not continues(body):
        return body
    made = _guarded(_items(body))
    return body if made is None else c_ast.Compound(made, body.coord)


def _guarded(items: Sequence[c_ast.Node]) -> list[c_ast.Node] | None:
    """The items, each run where no ``continue`` came before; ``None`` where that is unknown."""
    for position, item in enumerate(items):
        if not continues(item):
            continue
        before, rest = list(items[:position]), list(items[position + 1 :])
        if isinstance(item, c_ast.Continue):
            return before
        if isinstance(item, c_ast.Compound):
            inner = _items(item)
            if _hides(inner, rest):
                return None
            made = _guarded([*inner, *rest])
            return None if made is None else [*before, c_ast.Compound(made, item.coord)]
        chosen = _chosen(item, rest) if isinstance(item, c_ast.If) else None
        return None if chosen is None else [*before, *chosen]
    return list(items)


def _chosen(item: c_ast.If, rest: list[c_ast.Node]) -> list[c_ast.Node] | None:
    """A condition with a ``continue`` below it, and what follows where that is not reached."""
    branches = [_items(item.iftrue), _items(item.iffalse)]
    ending = [_always_continues(branch) for branch in branches]
    after: list[c_ast.Node] = []
    if rest and not any(ending):
        skips = _skips([item])
        if skips is not None and not names_in(skips) & _changed(item):
            inner = _guarded(rest)
            if inner is None:
                return None
            goes_on = c_ast.UnaryOp("!", skips, item.coord)
            after = [c_ast.If(goes_on, c_ast.Compound(inner, item.coord), None, item.coord)]
            rest = []
        elif not _may_be_copied(rest):
            return None
    made: list[c_ast.Node] = []
    for branch, ends in zip(branches, ending, strict=True):
        following = [] if ends else rest
        body = None if _hides(branch, following) else _guarded([*branch, *following])
        if body is None:
            return None
        made.append(c_ast.Compound(body, item.coord))
    other = made[1] if item.iffalse is not None or rest else None
    return [c_ast.If(item.cond, made[0], other, item.coord), *after]


def _skips(items: Sequence[c_ast.Node]) -> c_ast.Node | None:
    """Where items reach a ``continue`` whose conditions stay as they are; ``None`` if unknown."""
    result: c_ast.Node | None = None
    for item in items:
        if not continues(item):
            continue
        if isinstance(item, c_ast.Compound):
            found = _skips(_items(item))
        else:
            found = _skips_if(item) if isinstance(item, c_ast.If) else None
        if found is None:
            return None
        result = found if result is None else c_ast.BinaryOp("||", result, found, item.coord)
    return result


def _skips_if(item: c_ast.If) -> c_ast.Node | None:
    if any(isinstance(n, (c_ast.FuncCall, c_ast.Assignment)) for n in nodes(item.cond)):
        return None
    opposite = c_ast.UnaryOp("!", item.cond, item.coord)
    parts: list[c_ast.Node] = []
    for cond, branch in ((item.cond, item.iftrue), (opposite, item.iffalse)):
        items = _items(branch)
        if not any(map(continues, items)):
            continue
        if _always_continues(items):
            parts.append(cond)
            continue
        inner = _skips(items)
        if inner is None:
            return None
        parts.append(c_ast.BinaryOp("&&", cond, inner, item.coord))
    return parts[0] if len(parts) == 1 else c_ast.BinaryOp("||", *parts, item.coord)


def _changed(item: c_ast.Node) -> set[str]:
    """The names that a statement writes or declares; all of them where that is not seen."""
    everything = list(nodes(item))
    stores = (n.lvalue for n in everything if isinstance(n, c_ast.Assignment))
    hidden = any(not isinstance(place, (c_ast.ID, c_ast.ArrayRef)) for place in stores)
    if hidden or any(isinstance(node, c_ast.FuncCall) for node in everything):
        return names_in(item)
    declared = {n.name for n in everything if isinstance(n, c_ast.Decl) and n.name}
    return declared | {name for node in everything if (name := written_name(node)) is not None}


def _always_continues(items: Sequence[c_ast.Node]) -> bool:
    """Whether items surely end the iteration."""
    for item in items:
        match item:
            case c_ast.Continue():
                return True
            case c_ast.Compound() if _always_continues(_items(item)):
                return True
            case c_ast.If() if _always_continues(_items(item.iftrue)) and _always_continues(
                _items(item.iffalse)
            ):
                return True
            case _:
                pass
    return False


def _may_be_copied(rest: Sequence[c_ast.Node]) -> bool:
    everything = [node for item in rest for node in nodes(item)]
    labels = any(isinstance(node, c_ast.Label) for node in everything)
    skips = sum(isinstance(node, c_ast.Continue) for node in everything)
    return len(everything) <= MOST_NODES and skips <= MOST_SKIPS and not labels


def _hides(branch: Sequence[c_ast.Node], rest: Sequence[c_ast.Node]) -> bool:
    """Whether the rest would mean another variable within a branch."""
    declared = {item.name for item in branch if isinstance(item, c_ast.Decl)}
    used = {name for item in rest for name in names_in(item)}
    own = {n.name for item in rest for n in nodes(item) if isinstance(n, c_ast.Decl)}
    return bool(declared & (used | own))


def _items(node: c_ast.Node | None) -> list[c_ast.Node]:
    if node is None:
        return []
    return list(node.block_items or []) if isinstance(node, c_ast.Compound) else [node]
