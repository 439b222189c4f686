"""Budgets of memory: how much a plan may make of its source, the same on every machine.

What is inlined into what is inlined repeats its operands at every level, and loops unrolled inside
of each other repeat statements: both grow exponentially with the plan. Buffers are as large as what
tiles read. The units are operands, statements and the buffers' own bytes, not the memory that there
is, so that a plan is taken or refused alike everywhere.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from polyopt.errors import TooLargeError
from polyopt.isl import constant_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.transform.schedule.program import ScheduledProgram

#: operands of one statement once others are inlined into it: three times the most of any pipeline
MOST_OPERANDS = 512
#: operands of all statements that unrolled loops make, together: some MB of C
MOST_WRITTEN = 1 << 17
#: loops inside of each other: isl takes ever longer for each
MOST_LOOPS = 64
#: loops and conditions of the C inside of each other: clang takes 256 braces
MOST_NESTED = 128
#: bytes of a buffer whose extents no size decides: each thread has one
MOST_BUFFERED = 1 << 30


def check_inlined(before: ScheduledProgram, after: ScheduledProgram, array: str) -> None:
    """Raise ``TooLargeError`` where inlining ``array`` makes a statement too large."""
    old, new = operands(before), operands(after)
    for name in after.places:
        statement = after.copies[name].statement
        count = new[statement.name]
        if old.get(statement.name, 0) < count > MOST_OPERANDS:
            message = f"{array} inlined would give {statement.name} {count} operands"
            hint = f"store {array}, or what reads it; {MOST_OPERANDS} operands are the most"
            raise TooLargeError(message, span=statement.span, hint=hint)


def check_written(program: ScheduledProgram, trips: Mapping[str, int]) -> None:
    """Raise ``TooLargeError`` where unrolled loops make too many statements.

    ``trips`` are the iterations of each loop that is unrolled.
    """
    sizes, total = operands(program), 0
    for place in program.places.values():
        statement, times = program.copies[place.copy].statement, 1
        for loop in place.loops:
            times *= trips.get(loop.name, 1)
        total += times * max(1, sizes[statement.name]) if times > 1 else 0
        if total > MOST_WRITTEN:
            unrolled = [loop.name for loop in place.loops if loop.name in trips]
            message = f"{unrolled[-1]} unrolled would make statements of {total} operands in all"
            hint = f"unroll by a factor; {MOST_WRITTEN} operands are the most"
            raise TooLargeError(message, span=statement.span, hint=hint)


def check_depth(program: ScheduledProgram) -> None:
    """Raise ``TooLargeError`` for too many loops inside of each other."""
    waiting = [(node, 1) for node in program.tree]
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, str):
            continue
        if depth > MOST_LOOPS:
            message = f"{node.name} would be inside of {depth - 1} loops"
            raise TooLargeError(
                message, hint=f"{MOST_LOOPS} loops inside of each other are the most"
            )
        waiting += [(inner, depth + 1) for inner in node.body]


def check_buffers(program: ScheduledProgram) -> None:
    """Raise ``TooLargeError`` for a buffer of constant extents that is too large."""
    for scratch in program.scratches:
        array = program.scop.array(scratch.array)
        extents = [constant_value(extent) for extent in scratch.extents]
        size = prod(extent or 1 for extent in extents) * array.type.bytes
        if None not in extents and size > MOST_BUFFERED:
            shown = "".join(f"[{extent}]" for extent in extents)
            message = f"the buffer {scratch.name}{shown} takes {size} bytes of each thread"
            hint = f"use smaller tiles, or fuse further inside; {MOST_BUFFERED} bytes are the most"
            raise TooLargeError(message, span=array.span, hint=hint)


def operands(program: ScheduledProgram) -> dict[str, int]:
    """The elements that each statement reads, packs included, through what is inlined into it."""
    statements = {s.name: s for s in program.scop.statements}
    statements |= {copy.statement.name: copy.statement for copy in program.copies.values()}
    writers = {s.array: s for s in program.scop.statements}
    known: dict[str, int] = {}

    def of_array(array: str) -> int:
        return of(writers[array].name) if array in program.inlined else 1

    def of(name: str) -> int:
        if name not in known:
            known[name] = 1  # where what is inlined reads itself, which no plan may
            known[name] = sum(of_array(access.array) for access in statements[name].reads)
        return known[name]

    return {name: of(name) for name in statements}
