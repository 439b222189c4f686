"""Loop distribution of terms: what a sequential loop adds up is computed ahead, as vectors.

rewrite: ``for (j) s = s + expf(x[j] - m);`` -> for every strip of ``j``

    simd for (j) exp_found[j - j_strip] = expf(x[j] - m);
    for (j) s = s + exp_found[j - j_strip];

and of choices by data, ``s = s + (x[j] > t ? x[j] : -0.0);``, as ``chosen_found``.

A loop whose iterations wait for each other has no vectors. One math function after the other takes
several times as long there, and a choice of floats is a jump that a processor guesses wrong. What
they are made of seldom waits: the sum does.

*Requires* a sequential loop of assignments alone, and terms of nothing that it writes.

*Does not handle* calls that a condition stands before: what these load may not be there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary, Call, Select, Symbol, scalar
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    Buffer,
    For,
    Function,
    Node,
    Simd,
    unscoped,
    with_loops,
)
from polyopt.codegen.ast.visit import base_of, elements_in, substitute, walk
from polyopt.codegen.helpers.math.functions import VECTOR_MATH
from polyopt.codegen.passes.strip_mine import StripMinedLoop, sequential_strips

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.codegen.ast.expr import Expr
    from polyopt.codegen.ast.nodes import Local
    from polyopt.ir.types import ScalarType

#: iterations that share a buffer of results
STRIP = 64
#: iterations that are no vector of most machines
_FEW = 8


def distribute_terms(function: Function, *, math: bool) -> Function:
    """The function with terms of sequential loops as vectors, strip by strip.

    With ``math``, calls of math functions are terms, too: not those of the C library.
    """
    in_strips = partial(_in_strips, math=math)
    return function.with_bodies(lambda body: with_loops(body, in_strips))


@dataclass(frozen=True, eq=False)
class _Found:
    """A term that waits for nothing, and the locals that it needs."""

    term: Call | Select
    locals: tuple[Local, ...]


def _in_strips(loop: For, *, math: bool) -> For | None:
    """A sequential loop with its terms ahead; ``None`` where it has none."""
    strips = sequential_strips(loop, STRIP, _FEW)
    parts = [part for inner in loop.body.body for part in unscoped(inner)]
    assigns = [part for part in parts if isinstance(part, Assign)]
    if strips is None or len(assigns) < len(parts):
        return None
    terms = _terms(assigns, loop.body)
    found = [one for one in terms if math or isinstance(one.term, Select)]
    return _distributed(strips, found) if found else None


def _distributed(strips: StripMinedLoop, found: list[_Found]) -> For:
    """The loop over strips: the terms, then what the loop does with them."""
    buffers: list[Buffer] = []
    ahead: list[Node] = []
    known: dict[Expr, Expr] = {}
    declared: set[Symbol] = set()
    for one in found:
        buffer = strips.buffer(f"{_stem(one.term)}_found", _scalar(one.term))
        own = tuple(local for local in one.locals if local.symbol not in declared)
        declared |= {local.symbol for local in own}
        buffers.append(buffer)
        known[one.term] = strips.element(buffer)
        ahead.append(Assign(strips.element(buffer), one.term, locals=own))
    first = replace(strips.vector(*ahead), kind=Simd())
    body = _used([_substituted(node, known) for node in strips.loop.body.body])
    rest = strips.vector(*body)
    rest = replace(rest, body=replace(rest.body, buffers=strips.loop.body.buffers))
    return strips.around(first, rest, buffers=tuple(buffers))


def _terms(assigns: list[Assign], body: Block) -> Iterator[_Found]:
    """The terms, each once, that need nothing that the loop writes."""
    written = {assign.buffer for assign in assigns} | {b.symbol for b in body.buffers}
    locals_: dict[Symbol, Local] = {}
    seen: set[Expr] = set()
    for assign in assigns:
        locals_ |= {local.symbol: local for local in assign.locals}
        for value in assign.values:
            for term in _unconditional(value):
                needed = _needed(term, locals_)
                values = (term, *(local.value for local in needed))
                if term in seen or any(_waits(value, written) for value in values):
                    continue
                if isinstance(term, Select) and not _is_by_data(term, needed):
                    continue
                seen.add(term)
                yield _Found(term, needed)


def _unconditional(expr: Expr) -> Iterator[Call | Select]:
    """The outermost math calls that are made whatever comes, and choices of floats."""
    match expr:
        case Call(function=function) if function in VECTOR_MATH:
            yield expr
        case Select() if _scalar(expr).is_float and not _has_calls(expr):
            yield expr
        case Select(test=test):
            yield from _unconditional(test)
        case Binary(sign="&&" | "||", left=left):
            yield from _unconditional(left)
        case _:
            for child in expr.children:
                yield from _unconditional(child)


def _has_calls(expr: Expr) -> bool:
    return any(isinstance(part, Call) and part.function in VECTOR_MATH for part in walk(expr))


def _is_by_data(choice: Select, needed: tuple[Local, ...]) -> bool:
    """Whether what is chosen hangs on an element: iterators and sizes are guessed right."""
    loaded = {local.symbol for local in needed if any(elements_in(local.value))}
    return bool(loaded & set(choice.test.symbols)) or any(elements_in(choice.test))


def _needed(term: Expr, locals_: Mapping[Symbol, Local]) -> tuple[Local, ...]:
    """The locals that a term is made of, in order."""
    wanted = set(term.symbols)
    needed: list[Local] = []
    for symbol, local in reversed(list(locals_.items())):
        if symbol in wanted:
            wanted |= set(local.value.symbols)
            needed.append(local)
    return tuple(reversed(needed))


def _waits(value: Expr, written: set[Symbol | None]) -> bool:
    """Whether a value is made of what the loop writes."""
    return bool({*value.symbols, *map(base_of, elements_in(value))} & written)


def _substituted(node: Node, known: dict[Expr, Expr]) -> Node:
    if isinstance(node, Block):
        return replace(node, body=tuple(_substituted(part, known) for part in node.body))
    if not isinstance(node, Assign):
        return node
    locals_ = tuple(replace(one, value=substitute(one.value, known)) for one in node.locals)
    return replace(node, value=substitute(node.value, known), locals=locals_)


def _used(body: list[Node]) -> list[Node]:
    """The body without locals that nothing reads any more."""
    wanted: set[Symbol] = set()

    def kept(node: Node) -> Node:
        nonlocal wanted
        if isinstance(node, Block):
            return replace(node, body=tuple(reversed([kept(part) for part in reversed(node.body)])))
        if not isinstance(node, Assign):
            return node
        wanted |= {*node.value.symbols, *node.target.symbols}
        locals_: list[Local] = []
        for local in reversed(node.locals):
            if local.symbol in wanted:
                wanted |= set(local.value.symbols)
                locals_.insert(0, local)
        return replace(node, locals=tuple(locals_))

    return list(reversed([kept(node) for node in reversed(body)]))


def _stem(term: Call | Select) -> str:
    if isinstance(term, Select):
        return "chosen"
    return VECTOR_MATH[term.function].rpartition("_")[0]


def _scalar(term: Call | Select) -> ScalarType:
    return scalar(term.type)
