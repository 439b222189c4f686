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

import re
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from polyopt.codegen.accumulate import renamed, unscoped
from polyopt.codegen.loops import Assign, Block, For, If, Raw, with_loops
from polyopt.codegen.names import fresh, names_in
from polyopt.codegen.subscripts import apart, parts
from polyopt.frontend.c.known import BARRIER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.codegen.loops import Node

#: as few sums are cheap to put together
FEWEST = 4


def chains_apart(block: Block, taken: set[str]) -> Block:
    """The block with every loop over sums of several rows done in locals, stored one by one.

    ``taken`` are names that mean something else; those of new locals are added.
    """
    return with_loops(block, lambda loop: _apart(loop, taken))


def _apart(loop: For, taken: set[str]) -> Node | None:
    sums = _sums(loop)
    if not sums:
        return None
    names = {*taken, *names_in(f"{loop.start} {loop.condition}"), loop.iterator}
    names |= {n for a in sums for text in a.values for n in names_in(text)}
    before: list[Node] = []
    inside: list[Node] = []
    after: list[Node] = []
    for assign in sums:
        local = fresh(f"{assign.buffer}_sum", names)
        names.add(local)
        taken.add(local)
        before.append(Assign(local, assign.target, type=assign.type, declares=True))
        inside.append(renamed(assign, assign.target, local))
        after += [Raw((BARRIER,)), replace(assign, value=local, loads=(), forms=(), locals=())]
    run = replace(loop, body=Block(tuple(inside)))
    first = re.sub(rf"\b{loop.iterator}\b", lambda _: _operand(loop.start), loop.condition)
    return If(first, Block((*before, run, *after[1:]), scoped=True))


def _operand(text: str) -> str:
    return text if re.fullmatch(r"\w+", text) else f"({text})"


def _sums(loop: For) -> tuple[Assign, ...]:
    """The updates of a loop that holds nothing but sums of rows, or nothing."""
    body = tuple(part for node in loop.body.body for part in unscoped(node))
    if loop.mark or loop.private or loop.body.buffers:
        return ()
    sums = tuple(node for node in body if isinstance(node, Assign))
    buffers = {a.buffer for a in sums}
    for assign in sums:
        own = [text for name, text in assign.loads if name in buffers]
        moves = loop.iterator in names_in(assign.target)
        if assign.declares or assign.type is None or moves or own != [assign.target]:
            return ()
    groups = [tuple(g) for _, g in groupby(sorted(sums, key=_array), key=_array)]
    if len(sums) < len(body) or not all(_are_rows(group, loop.iterator) for group in groups):
        return ()
    return sums


def _array(assign: Assign) -> str:
    return parts(assign.target)[0]


def _are_rows(sums: Sequence[Assign], iterator: str) -> bool:
    """Whether updates of distinct elements differ by rows of what they read, and nothing else."""
    if len(sums) < FEWEST or len({len(a.loads) for a in sums}) > 1:
        return False
    places = [[_place(subscript) for subscript in parts(a.target)[1]] for a in sums]
    stems = {tuple(stem for stem, _ in place) for place in places}
    offsets = {tuple(offset for _, offset in place) for place in places}
    # other texts may mean one element: q[i] and q[k], q[c ? 0 : 0] and q[c ? 0 : 0 + 1]
    if len(stems) > 1 or not places[0] or len(offsets) < len(sums):
        return False
    if any("?" in stem for stem, _ in places[0]):
        return False
    each = ([text for _, text in a.loads if text != a.target] for a in sums)
    different = [texts for texts in map(set, zip(*each, strict=True)) if len(texts) > 1]
    return bool(different) and all(_is_column(texts, iterator) for texts in different)


def _place(subscript: str) -> tuple[str, int]:
    """A subscript as what elements beside each other share, and a constant."""
    stem, offset = apart(subscript)
    return ("", int(stem) + offset) if stem.isdigit() else (stem, offset)


def _is_column(texts: set[str], iterator: str) -> bool:
    """Whether elements stand in one column, that of a loop's iteration."""
    found = [parts(text)[1] for text in texts]
    last = {subscripts[-1] for subscripts in found if len(subscripts) > 1}
    return all(len(s) > 1 for s in found) and len(last) == 1 and iterator in names_in(last.pop())
