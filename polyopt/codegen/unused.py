"""Local buffers that a piece of a loop does not use are not declared there.

isl may cut a loop in several pieces; a buffer of the loop is declared in each of them. Values
of local variables and arrays that nothing reads (a fused producer may make more than is used) are
not computed either.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.loops import Assign, Block, Call, For, If, Node, Raw, walk
from polyopt.codegen.names import names_in

if TYPE_CHECKING:
    from collections.abc import Iterator


def without_unused(block: Block) -> Block:
    """The block, declaring only those local buffers that something inside reads."""
    return _declared(block, frozenset())


def _declared(block: Block, dead: frozenset[str]) -> Block:
    """The block without assignments to ``dead`` variables, and to those that are found here."""
    assigns = [node for node in walk(block) if isinstance(node, (Assign, Raw, Call))]
    written = {assign.buffer for assign in assigns if isinstance(assign, Assign)}
    read = {name for assign in assigns for name in _read(assign)}
    unread = {b.name for b in block.buffers if not b.heap and b.name not in read}
    body = tuple(_inside(node, dead | unread) for node in block.body)
    kept = tuple(b for b in block.buffers if b.name in read | written and b.name not in unread)
    body = tuple(node for node in body if not _is_empty(node))
    return replace(block, body=body, buffers=kept)


def _inside(node: Node, dead: frozenset[str]) -> Node:
    match node:
        case Block():
            return _declared(node, dead)
        case For():
            return replace(node, body=_declared(node.body, dead))
        case If():
            other = _declared(node.other, dead) if node.other is not None else None
            return replace(node, then=_declared(node.then, dead), other=other)
        case Assign():
            return Block(()) if node.buffer in dead else node
        case Raw() | Call():
            return node


def _is_empty(node: Node) -> bool:
    match node:
        case Block():
            return not node.body
        case For():
            return _is_empty(node.body)
        case If():
            return _is_empty(node.then) and (node.other is None or _is_empty(node.other))
        case Assign() | Raw() | Call():
            return False


def _read(assign: Assign | Raw | Call) -> Iterator[str]:
    """The names that an assignment needs the values of: not that of a variable it sets."""
    if not isinstance(assign, Assign):
        for text in assign.lines if isinstance(assign, Raw) else assign.arguments:
            yield from names_in(text)
        return
    for value in assign.values:
        yield from names_in(value)
    yield from names_in(assign.target)[1 if assign.buffer else 0 :]
