"""Scalar replacement: updates of one element in a row happen in a local, with one load and store.

rewrite: ``c[j] = c[j] + a; c[j] = c[j] + b;`` -> ``float acc = c[j]; acc = acc + a;
acc = acc + b; c[j] = acc;``

*Requires* that the values load nothing of the buffer but that very element, and that one of the
updates always happens: under conditions alone, the element may not exist. Besides saving
memory traffic, it is what compilers need to vectorise the loop around (gcc 12 gives up on a
constant stored to a variable-length array).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Foreign, Index, Symbol, Var
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    For,
    If,
    Node,
    as_block,
    assigns_in,
    rebuilt,
    unscoped,
    walk,
    with_expressions,
)
from polyopt.codegen.ast.visit import base_of, elements_in, substitute
from polyopt.ir.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.codegen.ast.expr import Expr

#: runs shorter than this stay as they are
SHORTEST = 2


def scalar_replacement(block: Block) -> Block:
    """The block with every run of updates of one element done in a local."""
    result: list[Node] = []
    run: list[Node] = []
    for node in block.body:
        target = _target(node)
        if run and (target is None or target != _target(run[0])):
            result += _closed(run)
            run = []
        if target is None:
            result.append(_inside(node))
        else:
            run.append(node)
    result += _closed(run)
    return replace(block, body=tuple(result))


def in_local(node: Block, target: Expr, local: Symbol) -> Block:
    """A block without loops, with a local in the place of an element."""
    return with_known(node, {target: Var(local)})


def with_known(node: Block, known: dict[Expr, Expr]) -> Block:
    """A block without loops, with other expressions in the place of some."""
    return as_block(_in_local(node, known))


def assign_in_local(assign: Assign, target: Expr, local: Symbol) -> Assign:
    """An assignment with a local in the place of an element."""
    return with_expressions(assign, lambda part: substitute(part, {target: Var(local)}))


def _inside(node: Node) -> Node:
    if isinstance(node, Block):
        return scalar_replacement(node)
    return rebuilt(node, _inside)


def _assigns(node: Node) -> tuple[Assign, ...] | None:
    """The assignments of a node without loops and buffers, else ``None``."""
    for found in walk(node):
        if not isinstance(found, Assign | If | Block):
            return None
        if isinstance(found, Block) and found.buffers:
            return None
    return assigns_in(node)


def _target(node: Node) -> Expr | None:
    """The one element that a node updates, or ``None``."""
    assigns = _assigns(node)
    if not assigns:
        return None
    target, buffer = assigns[0].target, assigns[0].buffer
    for assign in assigns:
        elements = (e for part in (assign.target, *assign.values) for e in elements_in(part))
        others = any(base_of(e) == buffer and e != target for e in elements)
        if assign.declares or assign.target != target or others:
            return None
    return target


def _closed(run: Sequence[Node]) -> list[Node]:
    """A finished run, in a local where that pays."""
    assigns = [a for node in run for a in _assigns(node) or []]
    if len(assigns) < SHORTEST or not isinstance(assigns[0].target, (Index, Foreign)):
        return list(run)
    first = assigns[0]
    # under a condition, perhaps the element has no value yet: of all but _Bool any bits are one
    may_lack = first.type == BOOL and not isinstance(unscoped(run[0])[0], Assign)
    if may_lack or not any(map(_always, run)):
        return [_inside(node) for node in run]
    target = first.target
    assert first.buffer is not None
    local = Symbol(f"{first.buffer.hint}_value", target.type)
    known: dict[Expr, Expr] = {target: Var(local)}
    body = [_in_local(node, known) for part in run for node in unscoped(part)]
    head = body[0]
    if isinstance(head, Assign) and not any(target in elements_in(v) for v in first.values):
        body[0] = replace(head, declares=True)
    else:
        body.insert(0, Assign(Var(local), target, declares=True))
    return [Block((*body, Assign(target, Var(local))), scoped=True)]


def _always(node: Node) -> bool:
    """Whether a node updates its target whatever the conditions in it say."""
    match node:
        case Assign():
            return True
        case Block():
            return any(map(_always, node.body))
        case If():
            return _always(node.then) and node.other is not None and _always(node.other)
        case _:
            return False


def _in_local(node: Node, known: dict[Expr, Expr]) -> Node:
    if isinstance(node, Assign):
        return with_expressions(node, lambda part: substitute(part, known))
    assert not isinstance(node, For)
    return rebuilt(node, lambda inner: _in_local(inner, known))
