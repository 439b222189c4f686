"""Loop collapsing: threads share the iterations of directly nested parallel loops as those of one.

rewrite: ``parallel for (c) parallel for (z) body`` -> ``parallel for (c) collapsed for (z) body``,
which is ``#pragma omp parallel for collapse(2)``: threads start once, not for each ``c``, and share
all pairs of ``c`` and ``z``.

*Requires* that both loops are parallel, as the plan's proof shows: pairs that differ in ``c`` share
nothing for the outer loop, those of one ``c`` for the inner one. OpenMP asks for a perfect nest
whose inner bounds do not depend on the outer iterator. Where that does not hold, and within other
loops, the inner loop is a plain one: threads are started at one level.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import number, number_of, product
from polyopt.codegen.ast.nodes import (
    Block,
    Collapsed,
    For,
    Parallel,
    Sequential,
    as_block,
    only,
    rebuilt,
)

if TYPE_CHECKING:
    from polyopt.codegen.ast.expr import Expr, Symbol
    from polyopt.codegen.ast.nodes import Node


def collapse(block: Block) -> Block:
    """The block whose parallel loops hold no other ones: these are collapsed, or plain loops."""
    return as_block(_collapse(block))


def _collapse(node: Node) -> Node:
    if isinstance(node, For) and isinstance(node.kind, Parallel):
        return _shared(node, node.kind, frozenset())
    return rebuilt(node, _collapse)


def _shared(loop: For, kind: Parallel, around: frozenset[Symbol]) -> For:
    """A parallel loop, collapsed with those ``around`` and directly inside of it."""
    inner, around = only(loop.body), around | {loop.iterator}
    if not isinstance(inner, For) or not isinstance(inner.kind, Parallel):
        return replace(loop, body=as_block(alone(loop.body)))
    if not _is_rectangular(around, inner) or kind.ordered or inner.kind.ordered or inner.private:
        return replace(loop, body=as_block(alone(loop.body)))
    inner = _shared(inner, inner.kind, around)
    assert isinstance(inner.kind, Parallel)
    trips = _both(kind.trips, inner.kind.trips)
    body = Block((replace(inner, kind=Collapsed()),))
    return replace(loop, kind=replace(kind, trips=trips), body=body)


def _both(one: Expr, other: Expr) -> Expr:
    """About how many pairs there are, of about so many each: numbers are one less than there are.

    Those of a few iterations are what is collapsed: one more or less is much of them.
    """
    last = number_of(one), number_of(other)
    counts = [
        each if n is None else number(n + 1) for each, n in zip((one, other), last, strict=True)
    ]
    if last[0] is not None and last[1] is not None:
        return number((last[0] + 1) * (last[1] + 1) - 1)
    return product((counts[0], counts[1]))


def _is_rectangular(around: frozenset[Symbol], inner: For) -> bool:
    """Whether the inner loop has the same iterations in each one of the loops around it."""
    return all(around.isdisjoint(bound.symbols) for bound in (inner.start, inner.condition))


def alone(node: Node) -> Node:
    """A node whose parallel loops are plain ones."""
    node = rebuilt(node, alone)
    if isinstance(node, For) and isinstance(node.kind, Parallel):
        return replace(node, kind=Sequential())
    return node
