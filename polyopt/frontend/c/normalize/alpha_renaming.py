"""Alpha-renaming: declarations that hide a variable of the surroundings get names of their own.

rewrite: ``int i = 5; ... for (int i = 0; i < n; i++) a[i] = 0;`` -> ``for (int i_1 = 0; ...)``

What comes after tells names apart by their text alone: it would take the loop for one over the
variable outside.
"""

# The parser's trees are copied and changed by the names of their parts, which have no types.
# pyright: basic, reportAttributeAccessIssue=false

from __future__ import annotations

import copy
from itertools import count
from typing import TYPE_CHECKING

from pycparser import c_ast

from polyopt.frontend.c.syntax.nodes import named_type, put
from polyopt.frontend.c.syntax.usage import nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_NONE: frozenset[str] = frozenset()


def declared(items: Iterable[c_ast.Node]) -> set[str]:
    """The names that are declared somewhere below some items."""
    decls = (node for item in items for node in nodes(item) if isinstance(node, c_ast.Decl))
    return {decl.name for decl in decls if decl.name}


def free_names(items: Sequence[c_ast.Node]) -> set[str]:
    """The names that mean something outside of the items, in the order of a block."""
    return set(_free_in_block(items, _NONE))


def alpha_renamed(items: Sequence[c_ast.Node], names: Mapping[str, str]) -> list[c_ast.Node]:
    """The items of a block with new names for what they declare under some old ones."""
    return _block(items, names, _NONE)


def locals_apart(items: Sequence[c_ast.Node], taken: Iterable[str]) -> list[c_ast.Node]:
    """The items of a function, whose locals have other names than the iterators of its loops.

    rewrite: ``for (int q ...) ... { double q = a[0]; ... }`` -> ``... { double q_1 = a[0]; ... }``
    """
    every = [node for item in items for node in nodes(item)]
    loops = [_declares(node.init) for node in every if isinstance(node, c_ast.For)]
    iterators = frozenset().union(*loops)
    blocks = [items, *(n.block_items or [] for n in every if isinstance(n, c_ast.Compound))]
    values = {d.name for block in blocks for d in block if isinstance(d, c_ast.Decl) and d.init}
    clashing = sorted(iterators & values)
    if not clashing:
        return list(items)
    used = {*taken, *declared(items), *(n.name for n in every if isinstance(n, c_ast.ID))}
    names: dict[str, str] = {}
    for name in clashing:
        number = next(k for k in count(1) if f"{name}_{k}" not in used)
        names[name] = f"{name}_{number}"
        used.add(names[name])
    return _block(items, names, _NONE, loops=False)


def _free_in_block(items: Sequence[c_ast.Node], hidden: frozenset[str]) -> Iterator[str]:
    for item in items:
        hidden |= _declares(item)
        yield from _free(item, hidden)


def _free(node: c_ast.Node, hidden: frozenset[str]) -> Iterator[str]:
    match node:
        case c_ast.ID():
            if node.name not in hidden:
                yield node.name
        case c_ast.Compound():
            yield from _free_in_block(node.block_items or [], hidden)
        case _:
            if isinstance(node, c_ast.For):
                hidden |= _declares(node.init)
            for place, child in node.children():
                if not _is_no_variable(node, place):
                    yield from _free(child, hidden)


def _declares(node: c_ast.Node | None) -> frozenset[str]:
    """The names that a statement declares for what comes after it, and for itself."""
    decls = node.decls if isinstance(node, c_ast.DeclList) else [node]
    return frozenset(decl.name for decl in decls if isinstance(decl, c_ast.Decl) and decl.name)


def _is_no_variable(node: c_ast.Node, place: str) -> bool:
    """Whether a child is the name of a member or of a called function."""
    return place == "field" or (isinstance(node, c_ast.FuncCall) and place == "name")


def _block(
    items: Sequence[c_ast.Node],
    names: Mapping[str, str],
    inside: frozenset[str],
    *,
    loops: bool = True,
) -> list[c_ast.Node]:
    """The items under other names, ``loops`` those that ``for`` declares, too."""
    result: list[c_ast.Node] = []
    for item in items:
        inside |= _declares(item) & names.keys()
        result.append(_renamed(item, names, inside, loops=loops))
    return result


def _renamed(
    node: c_ast.Node, names: Mapping[str, str], inside: frozenset[str], *, loops: bool
) -> c_ast.Node:
    match node:
        case c_ast.ID():
            return c_ast.ID(names[node.name], node.coord) if node.name in inside else node
        case c_ast.Compound():
            items = _block(node.block_items or [], names, inside, loops=loops)
            return c_ast.Compound(items, node.coord)
        case c_ast.For() if loops:
            inside |= _declares(node.init) & names.keys()
        case c_ast.For():
            inside -= _declares(node.init)
        case _:
            pass
    changed = copy.copy(node)
    for place, child in node.children():
        if not _is_no_variable(node, place):
            put(changed, place, _renamed(child, names, inside, loops=loops))
    if isinstance(changed, c_ast.Decl) and changed.name in inside:
        changed.name = names[changed.name]
        changed.type = named_type(changed.type, changed.name)
    return changed
