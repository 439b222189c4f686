"""Subscripts and tests that stay the same in a loop are worked out before it.

rewrite: ``for (x) a[max(0, y - 3)][x];`` -> ``row = max(0, y - 3); for (x) a[row][x];``

Only those with branches: compilers move plain arithmetic themselves, but give up on vectors where
a loop holds a choice. Their values are integers from iterators and sizes, so that working them
out where nothing may run at all does no harm.

The fixed values of a vector loop (``shared.py``) go before it as well. They may load, so they
are worked out only where the loop runs.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ctext import with_name
from polyopt.codegen.loops import Assign, Block, Call, For, If, Node, Raw, assigns_in, loops_in
from polyopt.codegen.names import fresh, names_in, operand, renamed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.codegen.loops import Form
    from polyopt.ir.types import ScalarType

_BRANCH = re.compile(r"\?|&&|\|\||\w\(")


def hoist(block: Block, taken: set[str]) -> Block:
    """The block with branching subscripts and tests before the loops that they do not depend on.

    ``taken`` are names that mean something else; those of the new variables are added.
    """
    taken |= {loop.iterator for loop in loops_in(block)}
    return _block(block, {}, taken)


def _block(block: Block, known: Mapping[str, str], taken: set[str]) -> Block:
    body: list[Node] = []
    known = dict(known)
    for node in block.body:
        for form in _invariant(node):
            if form.text not in known:
                known[form.text] = _named(form.name, taken)
                name = known[form.text]
                body.append(Assign(name, form.text, type=form.type, declares=True, constant=True))
        inside = _node(node, known, taken)
        body.append(_fixed_first(inside, taken) if isinstance(inside, For) else inside)
    return replace(block, body=tuple(body))


def _fixed_first(loop: For, taken: set[str]) -> For | If | Block:
    """The loop after its fixed values, under a test that it runs unless that is known."""
    made: dict[tuple[ScalarType, str], str] = {}
    body = Block(tuple(_without_fixed(node, made, taken) for node in loop.body.body))
    if not made:
        return loop
    before = tuple(
        Assign(name, text, type=type_, declares=True, constant=True)
        for (type_, text), name in made.items()
    )
    whole = Block((*before, replace(loop, body=replace(loop.body, body=body.body))))
    first = renamed(loop.condition, {loop.iterator: operand(loop.start)})
    return whole if _holds(loop) else If(first, whole)


def _holds(loop: For) -> bool:
    """Whether a loop of constant bounds runs at all."""
    found = re.fullmatch(rf"{loop.iterator} (<=?) (-?\d+)", loop.condition)
    if found is None or not re.fullmatch(r"-?\d+", loop.start):
        return False
    return int(loop.start) < int(found[2]) + (found[1] == "<=")


def _without_fixed(node: Node, made: dict[tuple[ScalarType, str], str], taken: set[str]) -> Node:
    """A node of the loop's body by the names of fixed values, which are added to ``made``."""
    if isinstance(node, Block):
        return replace(node, body=tuple(_without_fixed(n, made, taken) for n in node.body))
    if not isinstance(node, Assign) or not any(local.fixed for local in node.locals):
        return node
    names: dict[str, str] = {}
    for local in node.locals:
        if local.fixed:
            key = local.type, renamed(local.value, names)
            if key not in made:
                made[key] = _named(local.name if local.stem else "fixed", taken)
            names[local.name] = made[key]
    kept = (local for local in node.locals if not local.fixed)
    return replace(
        node,
        value=renamed(node.value, names),
        locals=tuple(replace(v, value=renamed(v.value, names)) for v in kept),
    )


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
        case Raw() | Call():
            return node


def _renamed(assign: Assign, known: Mapping[str, str]) -> Assign:
    """The assignment with known forms by their names."""
    texts = sorted({f.text for f in assign.forms} & known.keys(), key=lambda t: (-len(t), t))

    def again(text: str) -> str:
        for form in texts:  # longer ones first: they may hold others
            text = with_name(text, form, known[form])
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
    inner = {loop.iterator for loop in loops_in(node)}
    for assign in assigns_in(node):
        for form in assign.forms:
            if _BRANCH.search(form.text) and not inner & set(names_in(form.text)):
                yield form


def _named(name: str, taken: set[str]) -> str:
    found = fresh(name, taken)
    taken.add(found)
    return found
