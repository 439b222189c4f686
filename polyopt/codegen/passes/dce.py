"""Dead-code elimination: local buffers and values that nothing reads.

isl may cut a loop in several pieces; a buffer of the loop is declared in each of them, and not in
those that do not use it. Values of local variables and arrays that nothing reads (a fused producer
may make more than is used) are not computed either.

rewrite: ``{ float t[8]; float u; u = 1; a[i] = 2; }`` -> ``{ a[i] = 2; }``
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Symbol
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    Do,
    For,
    If,
    Node,
    Opaque,
    rebuilt,
    symbols_in,
    walk,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


def dce(block: Block) -> Block:
    """The block, declaring only those local buffers that something inside reads."""
    return _declared(block, frozenset())


def _declared(block: Block, dead: frozenset[Symbol]) -> Block:
    """The block without assignments to ``dead`` variables, and to those that are found here."""
    parts = [node for node in walk(block) if isinstance(node, Assign | Opaque | Do)]
    written = {node.buffer for node in parts if isinstance(node, Assign)}
    read, unread = set[Symbol](), set[Symbol]()
    while True:  # what only dead values are made of is dead, too
        read = {s for node in parts if not _sets(node, dead | unread) for s in _read(node)}
        more = {b.symbol for b in block.buffers if not b.is_allocated and b.symbol not in read}
        if more == unread:
            break
        unread = more
    body = tuple(_inside(node, dead | unread) for node in block.body)
    kept = tuple(b for b in block.buffers if b.symbol in read | written and b.symbol not in unread)
    return replace(block, body=tuple(n for n in body if not _is_empty(n)), buffers=kept)


def _inside(node: Node, dead: frozenset[Symbol]) -> Node:
    match node:
        case Block():
            return _declared(node, dead)
        case Assign():
            return Block(()) if node.buffer in dead else node
        case _:
            return rebuilt(node, lambda inner: _inside(inner, dead))


def _is_empty(node: Node) -> bool:
    match node:
        case Block():
            return not node.body
        case For():
            return _is_empty(node.body)
        case If():
            return _is_empty(node.then) and (node.other is None or _is_empty(node.other))
        case _:
            return False


def _sets(node: Assign | Opaque | Do, dead: Collection[Symbol]) -> bool:
    return isinstance(node, Assign) and node.buffer in dead


def _read(node: Assign | Opaque | Do) -> Iterator[Symbol]:
    """The symbols that a statement needs the values of: not that of a variable it sets."""
    if not isinstance(node, Assign):
        yield from symbols_in(node)
        return
    for part in node.read:
        yield from part.symbols
