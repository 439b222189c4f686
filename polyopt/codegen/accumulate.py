"""Updates of one element in a row happen in a local variable: one load, one store.

rewrite: ``c[j] = c[j] + a; c[j] = c[j] + b;`` -> ``float acc = c[j]; acc = acc + a;
acc = acc + b; c[j] = acc;``

*Requires* that the values load nothing of the buffer but that very element, and that one of the
updates always happens: under conditions alone, the element may not exist. Besides saving
memory traffic, it is what compilers need to vectorise the loop around (gcc 12 gives up on a
constant stored to a variable-length array).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.loops import Assign, Block, Call, For, If, Node, Raw, assigns_in, walk
from polyopt.ir.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Sequence

#: runs shorter than this stay as they are
SHORTEST = 2


def accumulate(block: Block, taken: set[str]) -> Block:
    """The block with every run of updates of one element done in a local."""
    result: list[Node] = []
    run: list[Node] = []
    for node in block.body:
        target = _target(node)
        if run and (target is None or target != _target(run[0])):
            result += _closed(run, taken)
            run = []
        if target is None:
            result.append(_inside(node, taken))
        else:
            run.append(node)
    result += _closed(run, taken)
    return replace(block, body=tuple(result))


def _inside(node: Node, taken: set[str]) -> Node:
    match node:
        case Block():
            return accumulate(node, taken)
        case For():
            return replace(node, body=accumulate(node.body, {*taken, node.iterator}))
        case If():
            other = accumulate(node.other, taken) if node.other is not None else None
            return replace(node, then=accumulate(node.then, taken), other=other)
        case Assign() | Raw() | Call():
            return node


def _assigns(node: Node) -> tuple[Assign, ...] | None:
    """The assignments of a node without loops and buffers, else ``None``."""
    for found in walk(node):
        if isinstance(found, For | Raw | Call) or (isinstance(found, Block) and found.buffers):
            return None
    return assigns_in(node)


def _target(node: Node) -> str | None:
    """The one element that a node updates, or ``None``."""
    assigns = _assigns(node)
    if not assigns:
        return None
    target, buffer = assigns[0].target, assigns[0].buffer
    for assign in assigns:
        others = [text for name, text in assign.loads if name == buffer and text != target]
        if assign.target != target or others:
            return None
    return target


def _closed(run: Sequence[Node], taken: set[str]) -> list[Node]:
    """A finished run, in a local where that pays."""
    assigns = [a for node in run for a in _assigns(node) or []]
    if len(assigns) < SHORTEST or "[" not in assigns[0].target:
        return list(run)
    first = assigns[0]
    # under a condition, perhaps the element has no value yet: of all but _Bool any bits are one
    may_lack = first.type == BOOL and not isinstance(unscoped(run[0])[0], Assign)
    if may_lack or not any(map(_always, run)):
        return [_inside(node, taken) for node in run]
    local = _local(first.buffer, taken)
    rewritten = [renamed(node, first.target, local) for part in run for node in unscoped(part)]
    head = rewritten[0]
    if isinstance(head, Assign) and not any(text == first.target for _, text in first.loads):
        rewritten[0] = replace(head, declares=True)
    else:
        start = Assign(local, first.target, type=first.type, declares=True)
        rewritten.insert(0, start)
    body = (*rewritten, Assign(first.target, local))
    return [Block(body, scoped=True)]


def unscoped(node: Node) -> tuple[Node, ...]:
    """What a node holds if it is a block that is no scope, or the node itself."""
    if isinstance(node, Block) and not (node.scoped or node.buffers or node.ordered):
        return tuple(part for inner in node.body for part in unscoped(inner))
    return (node,)


def _always(node: Node) -> bool:
    """Whether a node updates its target whatever the conditions in it say."""
    match node:
        case Assign():
            return True
        case Block():
            return any(map(_always, node.body))
        case If():
            return _always(node.then) and node.other is not None and _always(node.other)
        case For() | Raw() | Call():
            return False


def _local(buffer: str, taken: set[str]) -> str:
    name = f"{buffer}_value"
    while name in taken:
        name += "_"
    return name


def renamed(node: Node, target: str, local: str) -> Node:
    """A node without loops, with an element's text replaced by the name of a local."""
    match node:
        case Assign():
            pattern = rf"(?<![\w.>]){re.escape(target)}(?![\w\[])"
            *before, value = (re.sub(pattern, local, text) for text in node.values)
            kept = zip(node.locals, before, strict=True)
            shared = tuple(replace(one, value=text) for one, text in kept)
            changed = local if node.target == target else node.target
            return replace(node, target=changed, value=value, locals=shared)
        case Block():
            return replace(node, body=tuple(renamed(n, target, local) for n in node.body))
        case If():
            then = renamed(node.then, target, local)
            other = None if node.other is None else renamed(node.other, target, local)
            return replace(node, then=then, other=other)
        case For() | Raw() | Call():
            return node
