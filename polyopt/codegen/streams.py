"""Results that are more than the caches hold are stored past them, strip by strip of a vector loop.

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

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.chelpers import helper_name
from polyopt.codegen.loops import (
    Assign,
    Block,
    Buffer,
    Call,
    For,
    If,
    Node,
    loops_in,
    walk,
    with_loops,
)
from polyopt.codegen.names import names_in, operand, renamed
from polyopt.codegen.pastcache import LINE, STRIP
from polyopt.codegen.strips import Strips, named, plain, strips_of
from polyopt.codegen.subscripts import moving, parts
from polyopt.ir.types import I64

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.codegen.program import Argument
    from polyopt.ir.types import ScalarType

#: rows of which a strip is fetched at most: of more, loads wait for each other
MOST_FETCHED = 16


@dataclass(frozen=True, eq=False)
class Streams:
    """What is stored past the caches, and what is fetched: arguments by their C names."""

    #: result -> bytes of caches
    past: Mapping[str, int]
    arguments: Mapping[str, Argument]

    @property
    def bytes(self) -> str:
        """The bytes of all arrays that a call works on, as C."""
        arrays = [a for a in self.arguments.values() if a.kind == "array"]
        sizes = (" * ".join((str(a.type.bytes), *map(operand, a.c_extents))) for a in arrays)
        return " + ".join(sizes)

    def test(self, array: str) -> str:
        """Whether these are more than the caches hold that an array is stored past."""
        return f"{self.bytes} > {self.past[array]}"


def stream(block: Block, streams: Streams, taken: set[str]) -> Block:
    """The block of a function with such results stored past the caches.

    ``taken`` are names that mean something else; those of the new variables are added.
    """
    if not streams.past:
        return block
    taken |= {loop.iterator for loop in loops_in(block)}
    done = _block(block, (), streams, taken)
    return _settled(done)


def _block(block: Block, around: tuple[For, ...], streams: Streams, taken: set[str]) -> Block:
    body: list[Node] = []
    buffers = [*block.buffers]
    for node in block.body:
        new = _node(node, around, streams, taken)
        if new is not node and isinstance(new, Block) and not isinstance(node, Block):
            body += new.body
            buffers += new.buffers
        else:
            body.append(new)
    return replace(block, body=tuple(body), buffers=tuple(buffers))


def _node(node: Node, around: tuple[For, ...], streams: Streams, taken: set[str]) -> Node:
    match node:
        case Block():
            return _block(node, around, streams, taken)
        case If():
            other = _block(node.other, around, streams, taken) if node.other is not None else None
            return replace(node, then=_block(node.then, around, streams, taken), other=other)
        case For() if node.mark == "vector":
            return _in_strips(node, around, streams, taken) or node
        case For():
            return replace(node, body=_block(node.body, (*around, node), streams, taken))
        case _:
            return node


def _in_strips(loop: For, around: Sequence[For], streams: Streams, taken: set[str]) -> Block | None:
    """A vector loop whose results go past the caches; ``None`` where none do."""
    assigns = plain(loop.body)
    stored = [a for a in assigns or () if a.buffer in streams.past]
    if not stored or not all(_is_row(assign.target, loop.iterator) for assign in stored):
        return None
    if any(buffer in streams.past for assign in assigns or () for buffer, _ in assign.loads):
        return None
    types = {name: a.type for name, a in streams.arguments.items()}
    # so that a piece of each result is a line or more
    least = min(types[assign.buffer].bytes for assign in stored)
    strips = strips_of(loop, STRIP // least, taken)
    if strips is None:
        return None
    buffers, places = _strip_buffers(stored, strips, types, taken)
    calls: list[Node] = []
    for target, place in places.items():
        name = parts(target)[0]
        first = renamed(target, {loop.iterator: strips.start})
        ends = (strips.is_first, strips.is_last)
        given = (f"&{first}", place, strips.count, *ends, streams.test(name))
        calls.append(Call(helper_name("streamed", types[name]), given))
    body = [
        replace(
            a,
            target=places[a.target] + strips.place(LINE // types[a.buffer].bytes),
            buffer=parts(places[a.target])[0],
        )
        if a.target in places
        else a
        for a in assigns or ()
    ]
    fetched = _fetched(around, strips, streams, streams.test(stored[0].buffer))
    pieces = strips.around(*fetched, strips.vector(*body), *calls, buffers=())
    return Block((pieces,), buffers)  # what a piece leaves there the next one stores


def _strip_buffers(
    stored: Sequence[Assign], strips: Strips, types: Mapping[str, ScalarType], taken: set[str]
) -> tuple[tuple[Buffer, ...], dict[str, str]]:
    """A buffer for each result, and where in it a strip of each row goes.

    One for all rows: with many, compilers find too few registers for where they start.
    """
    made: list[Buffer] = []
    places: dict[str, str] = {}
    for array in dict.fromkeys(assign.buffer for assign in stored):
        rows = list(dict.fromkeys(a.target for a in stored if a.buffer == array))
        name = named(f"{array}_strip", taken)
        buffer = strips.buffer(name, types[array], LINE // types[array].bytes)
        if len(rows) > 1:
            buffer = replace(buffer, extents=(str(len(rows)), *buffer.extents))
        made.append(buffer)
        places |= {row: f"{name}[{k}]" if len(rows) > 1 else name for k, row in enumerate(rows)}
    return tuple(made), places


def _is_row(target: str, iterator: str) -> bool:
    """Whether iterations of a loop are neighbours in what they write."""
    *rows, last = parts(target)[1] or [""]
    return moving(last, iterator) == 1 and all(iterator not in names_in(s) for s in rows)


def _fetched(around: Sequence[For], strips: Strips, streams: Streams, test: str) -> list[Node]:
    """Calls that fetch what the next iteration of the loop over rows reads first."""
    for rows in reversed(around):
        found = list(_next_rows(rows, streams))
        if found:
            calls: list[Node] = []
            for array, place in found if len(found) <= MOST_FETCHED else ():
                name = helper_name("fetched", streams.arguments[array].type)
                calls.append(Call(name, (f"&{place}[{strips.start}]", test)))
            return calls
    return []


def _next_rows(rows: For, streams: Streams) -> Iterator[tuple[str, str]]:
    """Inputs with the rows of them that the next iteration of a loop reads, and this does not."""
    #: (array, subscripts, which one moves, how far) -> what is added there
    offsets: dict[tuple[str, tuple[str, ...], int, int], set[int]] = {}
    pattern = re.compile(rf"(?:(\d+) \* )?{re.escape(rows.iterator)}(?: ([+-]) (\d+))?")
    for array, subscripts in _rows_read(rows.body, ""):
        known = streams.arguments.get(array)
        found = [(k, m) for k, s in enumerate(subscripts) if (m := pattern.fullmatch(s))]
        inside = {n for s in subscripts for n in names_in(s)}
        local = inside - {rows.iterator} - streams.arguments.keys()
        if known is None or known.role != "in" or len(found) != 1 or local:
            continue
        ((k, match),) = found
        key = (array, (*subscripts[:k], "", *subscripts[k + 1 :]), k, int(match[1] or 1))
        added = int(f"{match[2] or '+'}{match[3] or 0}")
        offsets.setdefault(key, set()).add(added)
    for (array, subscripts, k, factor), added in offsets.items():
        for offset in sorted(added):
            ahead = offset + factor * rows.step
            if ahead > max(added):
                row = f"{factor} * {rows.iterator}" if factor > 1 else rows.iterator
                row += f" {'+' if ahead > 0 else '-'} {abs(ahead)}" if ahead else ""
                last = f"{streams.arguments[array].c_extents[k]} - 1"
                inside = f"{helper_name('min', I64)}({row}, {last})"
                whole = (*subscripts[:k], inside, *subscripts[k + 1 :])
                yield array, array + "".join(f"[{s}]" for s in whole)


def _rows_read(node: Node, iterator: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Arrays with the subscripts of the rows that vector loops read in any case."""
    match node:
        case Assign():
            for buffer, text in node.loads:
                *rows, last = parts(text)[1] or [""]
                if iterator and rows and moving(last, iterator) == 1:
                    yield buffer, tuple(rows)
        case Block():
            for child in node.body:
                yield from _rows_read(child, iterator)
        case For():
            inner = node.iterator if node.mark == "vector" else iterator
            yield from _rows_read(node.body, inner)
        case _:
            return


def _settled(block: Block) -> Block:
    """The block with a call behind streamed stores: in each iteration that threads share, as each
    thread has to wait for its own, and at the end."""
    stored = _streamed(block)
    if not stored:
        return block
    call = Call(min(stored).replace("streamed", "settled"), ())

    def settled(loop: For) -> For | None:
        if loop.mark == "parallel" and _streamed(loop):
            return replace(loop, body=replace(loop.body, body=(*loop.body.body, call)))
        return loop if loop.mark else None

    inner = with_loops(block, settled)
    return replace(inner, body=(*inner.body, call))


def _streamed(node: Node) -> list[str]:
    """The functions that a node calls to store past the caches."""
    names = [inner.name for inner in walk(node) if isinstance(inner, Call)]
    return [name for name in names if name.startswith("streamed_")]
