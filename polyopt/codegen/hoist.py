"""Subscripts and tests that stay the same in a loop are worked out before it.

rewrite: ``for (x) a[max(0, y - 3)][x];`` -> ``row = max(0, y - 3); for (x) a[row][x];``

Only those with branches: compilers move plain arithmetic themselves, but give up on vectors where
a loop holds a choice. Their values are integers from iterators and sizes, so that working them
out where nothing may run at all does no harm.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.loops import Assign, Block, For, If, Node, Raw
from polyopt.codegen.names import fresh
from polyopt.ir.types import BOOL, I64

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.codegen.loops import Form

_NAME = re.compile(r"[A-Za-z_]\w*")
_BRANCH = re.compile(r"\?|&&|\|\||\w\(")


def hoist(block: Block, taken: set[str]) -> Block:
    """The block with branching subscripts and tests before the loops that they do not depend on.

    ``taken`` are names that mean something else; those of the new variables are added.
    """
    taken |= {loop.iterator for loop in _loops(block)}
    return _block(block, {}, taken)


def _block(block: Block, known: Mapping[str, str], taken: set[str]) -> Block:
    body: list[Node] = []
    known = dict(known)
    for node in block.body:
        for form in _invariant(node):
            if form.text not in known:
                known[form.text] = _named(form.name, taken)
                type_ = BOOL if form.name == "inside" else I64
                name = known[form.text]
                body.append(Assign(name, form.text, type=type_, declares=True, constant=True))
        body.append(_node(node, known, taken))
    return replace(block, body=tuple(body))


def _node(node: Node, known: Mapping[str, str], taken: set[str]) -> Node:
    match node:
        case Block():
            return _block(node, known, taken)
        case For():
            return replace(node, body=_block(node.body, known, taken))
        case If():
            other = _block(node.other, known, taken) if node.other is not None else None
            return replace(node, then=_block(node.then, known, taken), other=other)
        case Assign():
            return _renamed(node, known)
        case Raw():
            return node


def _renamed(assign: Assign, known: Mapping[str, str]) -> Assign:
    """The assignment with known forms by their names."""
    texts = sorted({f.text for f in assign.forms} & known.keys(), key=lambda t: (-len(t), t))

    def again(text: str) -> str:
        for form in texts:  # longer ones first: they may hold others
            text = text.replace(form, known[form])
        return text

    return replace(
        assign,
        target=again(assign.target),
        value=again(assign.value),
        loads=tuple((buffer, again(text)) for buffer, text in assign.loads),
        locals=tuple(replace(local, value=again(local.value)) for local in assign.locals),
    )


def _invariant(node: Node) -> Iterator[Form]:
    """The branching forms below a loop that depend on none of the loops there."""
    if not isinstance(node, For):
        return
    inner = {loop.iterator for loop in _loops(node)}
    for assign in _assigns(node):
        for form in assign.forms:
            if _BRANCH.search(form.text) and not inner & set(_NAME.findall(form.text)):
                yield form


def _loops(node: Node) -> Iterator[For]:
    for child in _children(node):
        yield from _loops(child)
    if isinstance(node, For):
        yield node


def _assigns(node: Node) -> Iterator[Assign]:
    if isinstance(node, Assign):
        yield node
    for child in _children(node):
        yield from _assigns(child)


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case Block():
            return node.body
        case For():
            return node.body.body
        case If():
            return (node.then, node.other) if node.other is not None else (node.then,)
        case Assign() | Raw():
            return ()


def _named(name: str, taken: set[str]) -> str:
    found = fresh(name, taken)
    taken.add(found)
    return found
