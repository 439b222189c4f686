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

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary, Call, Expr, Select, Symbol, Var
from polyopt.codegen.ast.nodes import (
    Assign,
    Barrier,
    Block,
    For,
    If,
    Node,
    Opaque,
    Parallel,
    Scalar,
    Sequential,
    While,
    as_block,
    assigns_in,
    loops_in,
    rebuilt,
)
from polyopt.codegen.ast.visit import base_of, is_element, subscripts_of, walk
from polyopt.codegen.passes.strip_mine import span_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: gcc unrolls loops of up to so many iterations before it looks for vectors
UNROLLED = 16


@dataclass(frozen=True)
class _Use:
    """An element or a variable that is loaded or stored, and whether only some iterations do."""

    base: Symbol | None
    expr: Expr
    tested: bool = False


def unmasked(block: Block, *, heard: bool = True) -> Block:
    """The block with loops in which gcc would group loads under tests kept from vectors.

    They are marked as ``Scalar``. Where it is not sure that marks are ``heard``, any loop may be
    vectors, and what keeps it from that is an empty instruction: loops with instructions of their
    own are no vectors.
    """
    return as_block(rebuilt(block, lambda node: _unmasked(node, heard=heard)))


def _unmasked(node: Node, *, heard: bool) -> Node:
    made = rebuilt(node, lambda inner: _unmasked(inner, heard=heard))
    if not isinstance(node, For) or not isinstance(made, For) or not is_masked(node, heard=heard):
        return made
    if heard:
        return replace(made, kind=Scalar())
    kind = node.kind if isinstance(node.kind, Parallel) else Sequential()
    body = replace(made.body, body=(Barrier(memory=False), *made.body.body))
    return replace(made, kind=kind, body=body)


def is_masked(loop: For, *, heard: bool = True) -> bool:
    """Whether gcc may take loads under tests in a loop as a group."""
    inner = loops_in(loop)[1:]
    if heard and isinstance(loop.kind, Parallel):
        return False
    if not all(_is_unrolled(one, heard=heard) for one in inner):
        return False
    loads = set(_loads(loop.body, under=False))
    always = {load.expr for load in loads if not load.tested}
    tested = {load for load in loads if load.tested and load.expr not in always}
    short = {one.iterator for one in inner}
    return bool(tested) and _is_group(tested, loop, short) and _is_sum(_stores(loop), loop, short)


def _is_group(loads: Iterable[_Use], loop: For, short: set[Symbol]) -> bool:
    """Whether some loads fill what the loop leaves between one iteration and the next."""
    moving = _moving(loop)
    strided = [u for u in loads if moving & u.expr.symbols and not _is_dense(u, loop, moving)]
    return _side_by_side(strided, short)


def _is_sum(stores: Iterable[_Use], loop: For, short: set[Symbol]) -> bool:
    """Whether some stores do, or add to several sums, or a short loop to one for each iteration."""
    moving = _moving(loop)
    kept = (u for u in stores if not (u.tested and moving & u.expr.symbols))
    strided = [u for u in kept if not _is_dense(u, loop, moving)]
    return _side_by_side(strided, short) or bool(short and strided)


def _side_by_side(uses: list[_Use], short: set[Symbol]) -> bool:
    if any(short & use.expr.symbols for use in uses):
        return True
    counted = Counter(use.base for use in uses)
    return any(number > 1 for number in counted.values())


def _is_dense(use: _Use, loop: For, moving: set[Symbol]) -> bool:
    """Whether elements of one iteration and the next stand side by side."""
    subscripts = subscripts_of(use.expr)
    if not subscripts:
        return False
    last = subscripts[-1]
    return last.symbols & moving == frozenset({loop.iterator}) and all(map(_is_plain, walk(last)))


def _is_plain(node: Expr) -> bool:
    """Whether a part of a subscript is no more than a variable, a number, or their sum."""
    scaled = isinstance(node, Binary) and node.sign in {"*", "/", "%"}
    return not scaled and not isinstance(node, (Select, Call))


def _loads(block: Block, *, under: bool) -> Iterator[_Use]:
    """The elements that are loaded in a block."""
    for node, tested in _statements(block, under=under, both=True):
        if isinstance(node, Assign):
            for value in node.values:
                yield from _loads_of(value, under=tested)


def _loads_of(value: Expr, *, under: bool) -> Iterator[_Use]:
    """The elements in an expression; all behind a choice that is in no subscript are tested."""
    tested = under
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if is_element(node):
            yield _Use(base_of(node), node, tested)
            continue
        if isinstance(node, Select):
            yield from _loads_of(node.test, under=tested)
            tested = True
            waiting += [node.no, node.yes]
            continue
        waiting += reversed(node.children)


def _stores(loop: For) -> set[_Use]:
    """What a loop stores to, but for the locals of one iteration.

    Elements that are stored once, on the only side of a test, are tested: gcc masks such stores,
    and makes no groups of them.
    """
    own = {a.declared for a in assigns_in(loop.body)}
    own |= {local.symbol for a in assigns_in(loop.body) for local in a.locals}
    found = [
        _Use(node.buffer, node.target, tested)
        for node, tested in _statements(loop.body, under=False, both=False)
        if isinstance(node, Assign)
    ]
    times = Counter(use.expr for use in found)
    stored = {replace(u, tested=u.tested and times[u.expr] == 1) for u in found}
    stored = {use for use in stored if use.base not in own}
    # sums are one group whatever they are called
    return {use if use.expr.children else replace(use, base=None) for use in stored}


def _statements(block: Block, *, under: bool, both: bool) -> Iterator[tuple[Assign, bool]]:
    """What computes in a block, and whether it stands under a test.

    A test that has two sides counts where ``both`` says so.
    """
    for node in block.body:
        match node:
            case Block() | Opaque():
                inner = node if isinstance(node, Block) else node.body
                yield from _statements(inner, under=under, both=both)
            case For() | While():
                yield from _statements(node.body, under=under, both=both)
            case If():
                tested = under or both or node.other is None
                for side in (node.then, node.other):
                    if side is not None:
                        yield from _statements(side, under=tested, both=both)
            case Assign():
                yield node, under
            case _:
                continue


def _is_unrolled(loop: For, *, heard: bool) -> bool:
    """Whether gcc may write a loop out before it looks for vectors."""
    if heard and not loop.is_sequential:
        return False
    span = span_of(loop)
    return span is not None and span <= UNROLLED * loop.step


def _moving(loop: For) -> set[Symbol]:
    """Variables in a loop whose values change with it."""
    result = {loop.iterator}
    for node in assigns_in(loop.body):
        for local in node.locals:
            if result & local.value.symbols:
                result.add(local.symbol)
        if isinstance(node.target, Var) and result & node.value.symbols:
            result.add(node.target.symbol)
    return result
