"""Loops that gcc must not make vectors of: loads under tests, stored side by side.

rewrite: ``for (y) for (k < 3) out[y][k] = y >= 1 ? in[y - 1][k] : 0;`` ->
``#pragma omp simd safelen(1) simdlen(1)`` before the loop over ``y``

gcc (12.2, and others of its time) unrolls the short loop, and takes what stands side by side as
one group, loads under a test as well. Where such a group fills several vectors, it gives each of
them the mask of the first; where it is stored in another order than loaded, that order is lost
(gcc's bug 114375). Zeros and neighbours come out, in loops that OpenMP marks as in those that gcc
finds itself. Vectors of one lane are none: such a loop runs as it is written, and gcc still makes
vectors of what one iteration does.

Loads are a group where the loop moves them by several elements, and a short loop, or another load
of the array, goes over those between. Stores are one likewise, and sums that the loop adds to.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from polyopt.codegen.loops import (
    Assign,
    Block,
    Call,
    For,
    If,
    Node,
    Raw,
    assigns_in,
    loops_in,
)
from polyopt.codegen.names import names_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: gcc unrolls loops of up to so many iterations before it looks for vectors
UNROLLED = 16
#: none at all, as far as the processor sees; loops with instructions of their own are no vectors
_INSTRUCTION = '__asm__ volatile ("");'
_SUBSCRIPTS = r"(?:\[(?:[^\[\]]|\[[^\[\]]*\])*\])+"
_ELEMENT = re.compile(rf"\b(\w+){_SUBSCRIPTS}")
_TARGET = re.compile(rf"(?<![\w\]])(\w+)(?:{_SUBSCRIPTS})? = ")
_SUBSCRIPT = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]")


@dataclass(frozen=True)
class _Use:
    """An element that is loaded or stored, and whether only some iterations do so."""

    buffer: str
    text: str
    tested: bool = False


def unmasked(block: Block, *, heard: bool = True) -> Block:
    """The block with loops in which gcc would group loads under tests kept from vectors.

    They are marked as ``single``. Where it is not sure that marks are ``heard``, any loop may be
    vectors, and what keeps it from that is an empty instruction.
    """
    return replace(block, body=tuple(_unmasked(node, heard=heard) for node in block.body))


def _unmasked(node: Node, *, heard: bool) -> Node:
    match node:
        case Block():
            return unmasked(node, heard=heard)
        case If():
            other = None if node.other is None else unmasked(node.other, heard=heard)
            return replace(node, then=unmasked(node.then, heard=heard), other=other)
        case For():
            loop = replace(node, body=unmasked(node.body, heard=heard))
            if not is_masked(node, heard=heard):
                return loop
            if heard:
                return replace(loop, mark="single")
            mark = node.mark if node.mark == "parallel" else ""
            return replace(loop, mark=mark, body=_with_instruction(loop.body))
        case Assign() | Raw() | Call():
            return node


def _with_instruction(body: Block) -> Block:
    return replace(body, body=(Raw((_INSTRUCTION,)), *body.body))


def is_masked(loop: For, *, heard: bool = True) -> bool:
    """Whether gcc may take loads under tests in a loop as a group."""
    inner = loops_in(loop)[1:]
    if heard and loop.mark == "parallel":
        return False
    if not all(_is_unrolled(one, heard=heard) for one in inner):
        return False
    loads = set(_loads(loop.body, under=False))
    always = {load.text for load in loads if not load.tested}
    tested = {load for load in loads if load.tested and load.text not in always}
    short = {one.iterator for one in inner}
    return bool(tested) and _is_group(tested, loop, short) and _is_sum(_stores(loop), loop, short)


def _is_group(loads: Iterable[_Use], loop: For, short: set[str]) -> bool:
    """Whether some loads fill what the loop leaves between one iteration and the next."""
    moving = _moving(loop)
    strided = [u for u in loads if moving & {*names_in(u.text)} and not _is_dense(u, loop, moving)]
    return _side_by_side(strided, short)


def _is_sum(stores: Iterable[_Use], loop: For, short: set[str]) -> bool:
    """Whether some stores do, or add to several sums, or a short loop to one for each iteration."""
    moving = _moving(loop)
    kept = (u for u in stores if not (u.tested and moving & {*names_in(u.text)}))
    strided = [u for u in kept if not _is_dense(u, loop, moving)]
    return _side_by_side(strided, short) or bool(short and strided)


def _side_by_side(uses: list[_Use], short: set[str]) -> bool:
    if any(short & {*names_in(use.text)} for use in uses):
        return True
    return any(a == b for a, b in pairwise(sorted(use.buffer for use in uses)))


def _is_dense(use: _Use, loop: For, moving: set[str]) -> bool:
    """Whether elements of one iteration and the next stand side by side."""
    found = _SUBSCRIPT.findall(use.text)
    last = found[-1] if found else ""
    decided = {*names_in(last)} & moving
    return decided == {loop.iterator} and not any(c in last for c in "*/%?(")


def _loads(block: Block, *, under: bool) -> Iterator[_Use]:
    """The elements that are loaded in a block."""
    for node, tested in _texts(block, under=under, both=True):
        if isinstance(node, Assign):
            for value in node.values:
                yield from _loads_of(value, under=tested)
        else:
            unsure = tested or any("if (" in line for line in node.lines)
            for line in node.lines:
                yield from _loads_of(line.rpartition(" = ")[2], under=unsure)


def _loads_of(value: str, *, under: bool) -> Iterator[_Use]:
    """The elements in an expression; all behind a ``?`` that is in no subscript are tested."""
    plain = _ELEMENT.sub(lambda m: "@" * len(m[0]), value)
    first = plain.find("?") % (len(value) + 1)
    for found in _ELEMENT.finditer(value):
        yield _Use(found[1], found[0], tested=under or found.start() > first)


def _stores(loop: For) -> set[_Use]:
    """What a loop stores to, but for the locals of one iteration.

    Elements that are stored once, on the only side of a test, are tested: gcc masks such stores,
    and makes no groups of them.
    """
    own = {a.target for a in assigns_in(loop.body) if a.declares}
    own |= {local.name for a in assigns_in(loop.body) for local in a.locals}
    found: list[_Use] = []
    for node, tested in _texts(loop.body, under=False, both=False):
        if isinstance(node, Assign):
            found.append(_Use(node.target.partition("[")[0], node.target, tested))
        else:
            texts = (m for line in node.lines for m in _TARGET.finditer(line))
            found += [_Use(m[1], m[0].removesuffix(" = ")) for m in texts]
    times = Counter(use.text for use in found)
    stored = {replace(u, tested=u.tested and times[u.text] == 1) for u in found}
    stored = {use for use in stored if use.buffer not in own}
    # sums are one group whatever they are called
    return {use if "[" in use.text else replace(use, buffer="") for use in stored}


def _texts(block: Block, *, under: bool, both: bool) -> Iterator[tuple[Assign | Raw, bool]]:
    """What computes in a block, and whether it stands under a test.

    A test that has two sides counts where ``both`` says so.
    """
    for node in block.body:
        match node:
            case Block():
                yield from _texts(node, under=under, both=both)
            case For():
                yield from _texts(node.body, under=under, both=both)
            case If():
                tested = under or both or node.other is None
                for side in (node.then, node.other):
                    if side is not None:
                        yield from _texts(side, under=tested, both=both)
            case Assign() | Raw():
                yield node, under
            case Call():
                continue


def _is_unrolled(loop: For, *, heard: bool) -> bool:
    """Whether gcc may write a loop out before it looks for vectors."""
    bound = re.fullmatch(rf"{loop.iterator} (<=?) (.*)", loop.condition)
    if (heard and loop.mark) or bound is None:
        return False
    start, last = loop.start, bound[2]
    if re.fullmatch(r"-?\d+", start) and re.fullmatch(r"-?\d+", last):
        span = int(last) - int(start)
    elif over := re.fullmatch(rf"{re.escape(start)}(?: \+ (\d+))?", last):
        span = int(over[1] or 0)
    else:
        return False
    return span + (bound[1] == "<=") <= UNROLLED * loop.step


def _moving(loop: For) -> set[str]:
    """Names in a loop whose values change with it."""
    result = {loop.iterator}
    for node in assigns_in(loop.body):
        for name, value in (*((v.name, v.value) for v in node.locals), (node.target, node.value)):
            if "[" not in name and result & {*names_in(value)}:
                result.add(name)
    return result
