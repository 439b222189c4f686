"""Common-subexpression elimination across statements: one local for equal values in sight.

The rows of a block read the same rows of an inlined producer, and people the same expression once
per row. Compilers find it again, but for values with a choice in them.

rewrite: ``const float s = a[i] / 2; b[i] = s; const float t = a[i] / 2; b[i + 1] = t + 1;``
-> ``const float s = a[i] / 2; b[i] = s; b[i + 1] = s + 1;``

``repeated`` (``lower/cse.py``) says before statements are lowered which parts are to be locals.

*Requires* that nothing between two statements writes what the value reads: by arrays, which C keeps
apart.

*Does not handle* values inside branches of choices, and values across loops.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Symbol, Var
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    Do,
    For,
    If,
    Local,
    Node,
    Opaque,
    rebuilt,
)
from polyopt.codegen.ast.nodes import walk as nodes_in
from polyopt.codegen.ast.visit import base_of, substitute

if TYPE_CHECKING:
    from collections.abc import Iterable

    from polyopt.codegen.ast.expr import CType, Expr


@dataclass
class _Scope:
    """What a place in C sees: locals by type and value, and what each value reads."""

    known: dict[tuple[CType, Expr], Symbol] = field(
        default_factory=dict["tuple[CType, Expr]", "Symbol"]
    )
    reads: dict[Symbol, frozenset[Symbol]] = field(
        default_factory=dict["Symbol", "frozenset[Symbol]"]
    )

    def inner(self) -> _Scope:
        """The scope of braces inside."""
        return _Scope(dict(self.known), self.reads)

    def written(self, nodes: Iterable[Node]) -> None:
        """Forgets the values that these nodes may change."""
        within = [node for top in nodes for node in nodes_in(top)]
        if any(isinstance(node, (Opaque, Do)) for node in within):
            self.known.clear()
        stores = {base_of(node.target) for node in within if isinstance(node, Assign)}
        self.known = {
            key: local for key, local in self.known.items() if not self.reads[local] & stores
        }


def cse_across(block: Block) -> Block:
    """The block, where a local with the value of another in sight is that one."""
    return _block(block, _Scope())


def _block(block: Block, scope: _Scope) -> Block:
    return replace(block, body=tuple(_node(node, scope) for node in block.body))


def _node(node: Node, scope: _Scope) -> Node:
    match node:
        case Assign():
            return _assign(node, scope)
        case Block():
            return _block(node, scope.inner() if node.buffers or node.scoped else scope)
        case If():
            made = rebuilt(node, lambda inner: _node(inner, scope.inner()))
            scope.written((node.then, *([node.other] if node.other else [])))
            return made
        case For():
            body = _block(node.body, _Scope())
            scope.written((node.body,))
            return replace(node, body=body)
        case _:
            scope.written((node,))
            return node


def _assign(node: Assign, scope: _Scope) -> Assign:
    known: dict[Expr, Expr] = {}
    kept: list[Local] = []
    for local in node.locals:
        value = substitute(local.value, known)
        key = local.symbol.type, value
        if key not in scope.known:
            inner = (scope.reads.get(one, frozenset[Symbol]()) for one in value.symbols)
            scope.reads[local.symbol] = value.symbols.union(*inner)
            scope.known[key] = local.symbol
            kept.append(replace(local, value=value))
        known[Var(local.symbol)] = Var(scope.known[key])
    scope.written((node,))
    return replace(node, value=substitute(node.value, known), locals=tuple(kept))
