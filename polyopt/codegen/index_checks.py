"""Checks of subscripts where they are used: a kernel ends with a status before it writes elsewhere.

``count[key[i]]++`` needs every element of ``key`` to be a subscript of ``count``. A call may look
at all of them first, which reads ``key`` twice; here each is compared where it is loaded anyway.

rewrite: ``count[key[i]] = ...;`` ->
``if ((uint64_t)key[i] >= (uint64_t)n) { return 8; } count[key[i]] = ...;``

*Requires* results that the caller has not given a value: after such an end they hold anything. All
that is loaded of the index array are subscripts of that one array, in regions that no threads or
lanes share, of a function without buffers to release. *Leaves alone* what does not fit: a call
checks it before it runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Binary, Cast, Index
from polyopt.codegen.ast.nodes import (
    BAD_INDEX,
    Block,
    For,
    If,
    Opaque,
    Parallel,
    Return,
    Simd,
    as_block,
    assigns_in,
    expressions,
    rebuilt,
)
from polyopt.codegen.ast.nodes import walk as nodes_of
from polyopt.codegen.ast.visit import walk
from polyopt.ir.types import U64

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyopt.codegen.ast.expr import Expr, Symbol
    from polyopt.codegen.ast.nodes import Function, Node
    from polyopt.codegen.signature import Argument
    from polyopt.ir.indices import IndexArray


def with_index_checks(
    function: Function, indices: Sequence[IndexArray], arguments: Sequence[Argument]
) -> tuple[Function, tuple[IndexArray, ...]]:
    """The function with checks of the subscripts that can be checked where they are used, and the
    index arrays that a call need not look at before."""
    known = {a.name: a for a in arguments}
    if function.tasks or function.buffers or function.private:
        return function, ()
    if any(a.role == "inout" for a in arguments):
        return function, ()
    checked: list[IndexArray] = []
    for found in indices:
        alone = sum(other.array == found.array for other in indices) == 1
        if not (found.always and alone) or found.ordered:
            continue
        made = _checked(function.body, found, known)
        if made is not None:
            function = replace(function, body=made)
            checked.append(found)
    return function, tuple(checked)


def _checked(body: Block, found: IndexArray, known: dict[str, Argument]) -> Block | None:
    """The body with checks of one index array; ``None`` where not all of its uses are of the kind
    that can be checked."""
    array, target = known[found.array], known[found.target]
    regions = [region for region in _alone(body) if _uses(region, array.symbol)]
    inside = [_subscripts(r, array.symbol, target.symbol, found.axis) for r in regions]
    loads = [e for part in _expressions(body) for e in walk(part) if _is_of(e, array.symbol)]
    if not regions or any(part is None for part in inside):
        return None
    if len(loads) != sum(_count(region, array.symbol) for region in regions):
        return None
    extent = Cast(U64, target.lengths[found.axis])
    tests = {
        id(region): tuple(
            If(Binary(">=", Cast(U64, load), extent), Block((Return(BAD_INDEX),)))
            for load in part or ()
        )
        for region, part in zip(regions, inside, strict=True)
    }

    def changed(node: Node) -> Node:
        if isinstance(node, Opaque) and id(node) in tests:
            return Opaque(replace(node.body, body=(*tests[id(node)], *node.body.body)))
        return rebuilt(node, changed)

    return as_block(changed(body))


def _alone(node: Node) -> Iterator[Opaque]:
    """The regions that neither threads nor lanes share."""
    match node:
        case Opaque():
            yield node
        case For(kind=Parallel() | Simd()) | Block(ordered=True):
            return
        case For() | Block():
            for inner in (node.body,) if isinstance(node, For) else node.body:
                yield from _alone(inner)
        case If():
            for part in (node.then, node.other):
                yield from () if part is None else _alone(part)
        case _:
            return


def _expressions(node: Node) -> Iterator[Expr]:
    return (expr for inner in nodes_of(node) for expr in expressions(inner))


def _is_of(expr: Expr, array: Symbol) -> bool:
    return isinstance(expr, Index) and expr.array is array


def _count(region: Opaque, array: Symbol) -> int:
    return sum(_is_of(e, array) for part in expressions(region) for e in walk(part))


def _uses(region: Opaque, array: Symbol) -> bool:
    return _count(region, array) > 0


def _subscripts(
    region: Opaque, array: Symbol, target: Symbol, axis: int
) -> tuple[Expr, ...] | None:
    """What a region loads of an index array, each once, where all are subscripts of the target
    that hold throughout; else ``None``."""
    parts = [e for part in expressions(region) for e in walk(part)]
    direct = [
        source
        for e in parts
        if isinstance(e, Index) and e.array is target
        and _is_of(source := _bare(e.subscripts[axis]), array)
    ]  # fmt: skip
    if len(direct) != sum(_is_of(e, array) for e in parts):
        return None
    changing = {assign.buffer for assign in assigns_in(region.body)}
    if any(changing & load.symbols for load in direct):
        return None
    return tuple(dict.fromkeys(direct))


def _bare(part: Expr) -> Expr:
    while isinstance(part, Cast):
        part = part.operand
    return part
