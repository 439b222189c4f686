"""Non-temporal stores: results that are more than the caches hold bypass them, strip by strip.

rewrite: ``for (y) { ... for (x) out[y][x] = f(img[y + 3][x]); }`` ->

    for (y) { ... for each strip of x
        fetched_f32(&img[min_i64(y + 4, H - 1)][x_strip], bytes > past);
        for (x) out_strip[x - x_strip + 16] = f(img[y + 3][x]);
        streamed_f32(&out[y][x_strip], out_strip, x_end - x_strip, x_strip == 0, x_end == W,
                     bytes > past); }

What is fetched are the rows of inputs that the next iteration of the loop around reads, and this
one does not: memory brings them while this one computes.

*Requires* a vector loop of assignments alone, whose iterations are neighbours in the result, and
which does not read it.

*Does not handle* rows of inputs whose number is not the loop's iterator times a constant, plus
another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import (
    AddressOf,
    Binary,
    Call,
    Expr,
    Index,
    Symbol,
    Var,
    minus,
    number,
    plus,
    product,
    scalar,
    total,
)
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    Buffer,
    Do,
    For,
    If,
    Node,
    Parallel,
    Sequential,
    Simd,
    only,
    plain,
    rebuilt,
    walk,
    with_loops,
)
from polyopt.codegen.ast.subscripts import coefficient, moves_by, with_offset
from polyopt.codegen.ast.visit import base_of, subscripts_of, substitute
from polyopt.codegen.helpers.arithmetic import HELPERS, helper_name
from polyopt.codegen.helpers.nontemporal import LINE, STRIP
from polyopt.codegen.passes.strip_mine import StripMinedLoop, strips_of
from polyopt.ir.types import I64

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.codegen.signature import Argument
    from polyopt.ir.types import ScalarType

#: rows of which a strip is fetched at most: of more, loads wait for each other
MOST_FETCHED = 16


@dataclass(frozen=True, eq=False)
class NontemporalStores:
    """Non-temporal stores, past the caches, and what is fetched: arguments by their symbols."""

    #: result -> bytes of caches
    past: Mapping[Symbol, int]
    arguments: Mapping[Symbol, Argument]

    @property
    def bytes(self) -> Expr:
        """The bytes of all arrays that a call works on."""
        arrays = [a for a in self.arguments.values() if a.kind == "array"]
        return total(tuple(product((number(a.type.bytes), *a.lengths)) for a in arrays))

    def test(self, array: Symbol) -> Expr:
        """Whether these are more than the caches hold that an array is stored past."""
        return Binary(">", self.bytes, number(self.past[array]))


def nontemporal_stores(block: Block, streams: NontemporalStores) -> Block:
    """The block of a function with non-temporal stores of such results."""
    if not streams.past:
        return block
    return _settled(_block(block, (), streams))


def _block(block: Block, around: tuple[For, ...], streams: NontemporalStores) -> Block:
    body: list[Node] = []
    buffers = [*block.buffers]
    for node in block.body:
        new = _node(node, around, streams)
        if new is not node and isinstance(new, Block) and not isinstance(node, Block):
            body += new.body
            buffers += new.buffers
        else:
            body.append(new)
    return replace(block, body=tuple(body), buffers=tuple(buffers))


def _node(node: Node, around: tuple[For, ...], streams: NontemporalStores) -> Node:
    match node:
        case Block():
            return _block(node, around, streams)
        case For() if isinstance(node.kind, Simd):
            return _in_strips(node, around, streams) or node
        case For():
            return replace(node, body=_block(node.body, (*around, node), streams))
        case If():
            return rebuilt(node, lambda inner: _node(inner, around, streams))
        case _:
            return node


def _in_strips(loop: For, around: Sequence[For], streams: NontemporalStores) -> Block | None:
    """A vector loop with non-temporal stores; ``None`` where it has none."""
    assigns = plain(loop.body) or ()
    stored = [a for a in assigns if a.buffer in streams.past]
    if not stored or not all(_is_row(assign.target, loop.iterator) for assign in stored):
        return None
    if any(base_of(e) in streams.past for assign in assigns for e in assign.loads):
        return None
    # so that a piece of each result is a line or more
    least = min(scalar(assign.type).bytes for assign in stored)
    strips = strips_of(loop, STRIP // least)
    if strips is None:
        return None
    buffers, rows = _strip_buffers(stored, strips)
    calls: list[Node] = []
    for target, row in rows.items():
        array = base_of(target)
        assert array is not None
        first = substitute(target, {Var(loop.iterator): Var(strips.start)})
        ends = (strips.is_first, strips.is_last)
        given = (AddressOf(first), row, strips.count, *ends, streams.test(array))
        calls.append(Do(Call(helper_name("streamed", scalar(array.type)), given, I64)))
    body = [_into_strip(a, rows[a.target], strips) if a.target in rows else a for a in assigns]
    assert stored[0].buffer is not None
    fetched = _fetched(around, strips, streams, streams.test(stored[0].buffer))
    pieces = strips.around(*fetched, strips.vector(*body), *calls, buffers=())
    return Block((pieces,), buffers)  # what a piece leaves there the next one stores


def _into_strip(assign: Assign, row: Var | Index, strips: StripMinedLoop) -> Assign:
    """An assignment to a row of a strip's buffer, which begins a line before the strip."""
    symbol, before = (row.symbol, ()) if isinstance(row, Var) else (row.array, row.subscripts)
    place = strips.place(LINE // scalar(assign.type).bytes)
    return replace(assign, target=Index(symbol, (*before, place)))


def _strip_buffers(
    stored: Sequence[Assign], strips: StripMinedLoop
) -> tuple[tuple[Buffer, ...], dict[Expr, Var | Index]]:
    """A buffer for each result, and the row of it in which a strip of each row goes.

    One for all rows: with many, compilers find too few registers for where they start.
    """
    made: list[Buffer] = []
    places: dict[Expr, Var | Index] = {}
    for array in dict.fromkeys(assign.buffer for assign in stored):
        assert array is not None
        rows = list(dict.fromkeys(a.target for a in stored if a.buffer == array))
        type_ = scalar(array.type)
        buffer = strips.buffer(f"{array.hint}_strip", type_, LINE // type_.bytes)
        if len(rows) > 1:
            buffer = replace(buffer, extents=(number(len(rows)), *buffer.extents))
        made.append(buffer)
        for k, row in enumerate(rows):
            whole = Var(buffer.symbol)
            places[row] = Index(buffer.symbol, (number(k),)) if len(rows) > 1 else whole
    return tuple(made), places


def _is_row(target: Expr, iterator: Symbol) -> bool:
    """Whether iterations of a loop are neighbours in what they write."""
    *rows, last = subscripts_of(target) or (number(0),)
    return moves_by(last, iterator) == 1 and all(iterator not in s.symbols for s in rows)


def _fetched(
    around: Sequence[For], strips: StripMinedLoop, streams: NontemporalStores, test: Expr
) -> list[Node]:
    """Calls that fetch what the next iteration of the loop over rows reads first."""
    for rows in reversed(around):
        found = list(_next_rows(rows, streams))
        if not found:
            continue
        calls: list[Node] = []
        for row in found if len(found) <= MOST_FETCHED else ():
            name = helper_name("fetched", scalar(row.array.type))
            first = Index(row.array, (*row.subscripts, Var(strips.start)))
            calls.append(Do(Call(name, (AddressOf(first), test), I64)))
        return calls
    return []


def _next_rows(rows: For, streams: NontemporalStores) -> Iterator[Index]:
    """The rows of inputs that the next iteration of a loop reads, and this does not."""
    #: (array, subscripts, which one moves, the stem of it) -> what is added there
    offsets: dict[tuple[Symbol, tuple[Expr | None, ...], int, Expr], set[int]] = {}
    for array, subscripts in _rows_read(rows.body, None):
        known = streams.arguments.get(array)
        found = [(k, _moving(s, rows.iterator)) for k, s in enumerate(subscripts)]
        moving = [(k, one) for k, one in found if one is not None]
        inside = {symbol for s in subscripts for symbol in s.symbols}
        local = inside - {rows.iterator} - streams.arguments.keys()
        if known is None or known.role != "in" or len(moving) != 1 or local:
            continue
        ((k, (stem, added)),) = moving
        key = (array, (*subscripts[:k], None, *subscripts[k + 1 :]), k, stem)
        offsets.setdefault(key, set()).add(added)
    for (array, subscripts, k, stem), added in offsets.items():
        factor = coefficient(stem, rows.iterator) or 1
        for offset in sorted(added):
            ahead = offset + factor * rows.step
            if ahead > max(added):
                last = minus(streams.arguments[array].lengths[k], number(1))
                inside_ = Call(helper_name("min", I64), (plus(stem, ahead), last), I64)
                yield Index(array, tuple(inside_ if s is None else s for s in subscripts))


def _moving(subscript: Expr, iterator: Symbol) -> tuple[Expr, int] | None:
    """``2 * y + 3`` as ``2 * y`` and 3; ``None`` of what is no multiple of an iterator."""
    stem, added = with_offset(subscript)
    multiple = isinstance(stem, Var) or (isinstance(stem, Binary) and stem.sign == "*")
    if stem is None or not multiple or stem.symbols != frozenset({iterator}):
        return None
    return (stem, added) if moves_by(stem, iterator) else None


def _rows_read(node: Node, iterator: Symbol | None) -> Iterator[tuple[Symbol, tuple[Expr, ...]]]:
    """Arrays with the subscripts of the rows that vector loops read in any case."""
    match node:
        case Assign():
            for element in node.loads:
                *rows, last = subscripts_of(element) or (number(0),)
                if iterator is not None and rows and moves_by(last, iterator) == 1:
                    array = base_of(element)
                    assert array is not None
                    yield array, tuple(rows)
        case Block():
            for child in node.body:
                yield from _rows_read(child, iterator)
        case For():
            inner = node.iterator if isinstance(node.kind, Simd) else iterator
            yield from _rows_read(node.body, inner)
        case _:
            return


def _settled(block: Block) -> Block:
    """The block with a fence behind non-temporal stores: in each iteration that threads share, as
    each thread has to wait for its own, and at the end."""
    stored = _streamed(block)
    if not stored:
        return block
    first = min(stored, key=lambda type_: type_.name)
    call = Do(Call(helper_name("settled", first), (), I64))

    def settled(loop: For) -> For | None:
        if isinstance(loop.kind, Parallel) and _streamed(loop):
            return _waiting(loop, call)
        return None if isinstance(loop.kind, Sequential) else loop

    inner = with_loops(block, settled)
    return replace(inner, body=(*inner.body, call))


def _waiting(loop: For, call: Do) -> For:
    """A parallel loop with a fence at the end of each iteration that threads share: nothing comes
    between loops that may be collapsed."""
    inner = only(loop.body)
    if isinstance(inner, For) and isinstance(inner.kind, Parallel):
        return replace(loop, body=replace(loop.body, body=(_waiting(inner, call),)))
    return replace(loop, body=replace(loop.body, body=(*loop.body.body, call)))


def _streamed(node: Node) -> list[ScalarType]:
    """The types of what a node's non-temporal stores store."""
    calls = [inner.call for inner in walk(node) if isinstance(inner, Do)]
    known = [HELPERS.get(call.function) for call in calls if isinstance(call, Call)]
    return [one[1] for one in known if one is not None and one[0] == "streamed"]
