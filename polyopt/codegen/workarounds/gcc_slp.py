"""Sums of several rows, kept from vectors that would be filled element by element.

rewrite: ``for (j) { q[0] = q[0] + A[0][j]; q[1] = q[1] + A[1][j]; ... }`` ->
``double q_sum = q[0], q_sum2 = q[1], ...; for (j) { q_sum = q_sum + A[0][j]; ... }``
``q[0] = q_sum; BARRIER; q[1] = q_sum2; ...``

Each row's sum is a chain of additions, and several of them wait side by side. Their results are
neighbours in memory, and compilers (gcc's and clang's "basic block" vectors) look for vectors from
such stores upwards: they add up a vector of sums, and put together each vector of operands from
elements of so many rows, which takes more instructions than the scalar additions do. An empty
instruction between two stores says that memory may have changed, so that they are no group.

*Requires* that each row has an operand of its own, the same column in all of them; that sums are
distinct elements, which nothing else in the loop reads. They are touched where the loop runs at
all: without an iteration they may not exist.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Select, Symbol, Var, Vector
from polyopt.codegen.ast.nodes import (
    Assign,
    Barrier,
    Block,
    For,
    If,
    Node,
    unscoped,
    with_loops,
)
from polyopt.codegen.ast.subscripts import with_offset
from polyopt.codegen.ast.visit import base_of, subscripts_of, walk
from polyopt.codegen.passes.scalar_replacement import assign_in_local

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.codegen.ast.expr import Expr

#: as few sums are cheap to put together
FEWEST = 4


def chains_apart(block: Block) -> Block:
    """The block with every loop over sums of several rows done in locals, stored one by one."""
    return with_loops(block, _apart)


def _apart(loop: For) -> Node | None:
    sums = _sums(loop)
    if not sums:
        return None
    before: list[Node] = []
    inside: list[Node] = []
    after: list[Node] = []
    for assign in sums:
        assert assign.buffer is not None
        local = Symbol(f"{assign.buffer.hint}_sum", assign.type)
        before.append(Assign(Var(local), assign.target, declares=True))
        inside.append(assign_in_local(assign, assign.target, local))
        after += [Barrier(memory=True), Assign(assign.target, Var(local))]
    run = replace(loop, body=Block(tuple(inside)))
    return If(loop.test_at(loop.start), Block((*before, run, *after[1:]), scoped=True))


def _sums(loop: For) -> tuple[Assign, ...]:
    """The updates of a loop that holds nothing but sums of rows, or nothing."""
    body = tuple(part for node in loop.body.body for part in unscoped(node))
    if not loop.is_sequential or loop.private or loop.body.buffers:
        return ()
    sums = tuple(node for node in body if isinstance(node, Assign))
    buffers = {a.buffer for a in sums}
    for assign in sums:
        own = {element for element in assign.loads if base_of(element) in buffers}
        moves = loop.iterator in assign.target.symbols
        if assign.declares or isinstance(assign.type, Vector) or moves or own != {assign.target}:
            return ()
    groups = ([a for a in sums if a.buffer == buffer] for buffer in buffers)
    if len(sums) < len(body) or not all(_are_rows(group, loop.iterator) for group in groups):
        return ()
    return sums


def _are_rows(sums: Sequence[Assign], iterator: Symbol) -> bool:
    """Whether updates of distinct elements differ by rows of what they read, and nothing else."""
    loads = [assign.loads for assign in sums]
    if len(sums) < FEWEST or len(set(map(len, loads))) > 1:
        return False
    places = [[with_offset(s) for s in subscripts_of(a.target)] for a in sums]
    stems = {tuple(stem for stem, _ in place) for place in places}
    offsets = {tuple(offset for _, offset in place) for place in places}
    # other texts may mean one element: q[i] and q[k], q[c ? 0 : 0] and q[c ? 0 : 0 + 1]
    if len(stems) > 1 or not places[0] or len(offsets) < len(sums):
        return False
    chosen = (node for stem, _ in places[0] if stem is not None for node in walk(stem))
    if any(isinstance(node, Select) for node in chosen):
        return False
    each = ([e for e in own if e != a.target] for a, own in zip(sums, loads, strict=True))
    different = [found for found in map(set, zip(*each, strict=True)) if len(found) > 1]
    return bool(different) and all(_is_column(found, iterator) for found in different)


def _is_column(elements: set[Expr], iterator: Symbol) -> bool:
    """Whether elements stand in one column, that of a loop's iteration."""
    found = [subscripts_of(element) for element in elements]
    last = {subscripts[-1] for subscripts in found if len(subscripts) > 1}
    if any(len(subscripts) < 2 for subscripts in found) or len(last) != 1:
        return False
    return iterator in last.pop().symbols
