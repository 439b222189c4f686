"""Which buffers live on the stack: small ones, as long as all that live at once are no more than
a frame.

A call's frame, and those of the tasks that threads run under it, have to fit the stack of a thread;
what does not is allocated, and a call tells its caller where memory runs out. No caller hears of a
stack that does: the process ends.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Symbol, number_of, scalar
from polyopt.codegen.ast.nodes import Buffer, Heap, Stack
from polyopt.codegen.expressions.affine import at_least_one, c_extent, constant_bytes
from polyopt.codegen.lower.padding import with_padded_rows
from polyopt.isl import constant_value
from polyopt.transform.schedule.query import path_to
from polyopt.transform.schedule.tree import loops_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from polyopt.codegen.ast.expr import Expr
    from polyopt.codegen.expressions.lowered import Lowered
    from polyopt.ir.scop import Array
    from polyopt.isl import PwAff
    from polyopt.transform.schedule.program import ScheduledProgram

#: larger buffers, and those of parametric size, are allocated instead of put on the stack
STACK_BYTES = 32 * 1024
#: Of all buffers that live at one place. Of the stacks that systems give threads, macOS has the
#: smallest for those that a program starts: 512 KiB (Threading Programming Guide). Half of it is
#: left to callers, to the compiler's spilled registers, and to strips of vector loops.
FRAME_BYTES = 256 * 1024


def stored_temps(program: ScheduledProgram) -> list[Array]:
    """Local arrays that some copy still accesses as a whole."""
    touches = (*program.reads, *program.writes)
    used = {touch.access.array for touch in touches if touch.scratch is None}
    return [a for a in program.scop.arrays if a.role == "temp" and a.name in used]


def buffers_of(
    program: ScheduledProgram, symbols: Mapping[str, Symbol], params: Mapping[str, Lowered]
) -> tuple[dict[str, Buffer], dict[str, Buffer]]:
    """Local arrays and scratches by name, on the stack where they fit a frame.

    ``symbols`` are theirs by these names, and ``params`` what sizes are.
    """
    temps = {a.name: a for a in stored_temps(program)}
    made: dict[str, Buffer] = {}
    for name, array in temps.items():
        made[name] = _buffer(symbols[name], array.extents, array.extents, program, params)
    for scratch in program.scratches:
        extents = scratch.ordered(scratch.extents)
        single = all(constant_value(e) == 1 for e in extents)
        shape = () if single else extents
        made[scratch.name] = _buffer(symbols[scratch.name], shape, scratch.extents, program, params)
    at = {**dict.fromkeys(temps, ""), **{s.name: s.at for s in program.scratches}}
    loops = ["", *(loop.name for loop in loops_of(program.tree))]
    moved = beyond_frame(made, at, [[n.name for n in path_to(program, loop)] for loop in loops])
    made = {
        name: replace(b, space=_heap(b.symbol)) if name in moved else b for name, b in made.items()
    }
    return {n: made[n] for n in temps}, {n: b for n, b in made.items() if n not in temps}


def _buffer(
    symbol: Symbol,
    shape: tuple[PwAff, ...],
    elements: tuple[PwAff, ...],
    program: ScheduledProgram,
    params: Mapping[str, Lowered],
) -> Buffer:
    type_ = scalar(symbol.type)
    bytes_ = constant_bytes(elements, type_.bytes)
    is_large = bool(shape) and (bytes_ is None or bytes_ > STACK_BYTES)
    extents = c_extents(with_padded_rows(shape, type_.bytes), program, params) if shape else ()
    return Buffer(symbol, extents, _heap(symbol) if is_large else Stack(), bytes_)


def _heap(symbol: Symbol) -> Heap:
    return Heap(Symbol(f"{symbol.hint}_of", symbol.type, symbol.origin))


def c_extents(
    extents: tuple[PwAff, ...], program: ScheduledProgram, params: Mapping[str, Lowered]
) -> tuple[Expr, ...]:
    """Extents as C, none below one, under the program's context."""
    context = program.scop.context
    return tuple(c_extent(at_least_one(e, context), context, params).node for e in extents)


def beyond_frame(
    buffers: Mapping[str, Buffer], at: Mapping[str, str], paths: Iterable[Sequence[str]]
) -> frozenset[str]:
    """The buffers that are allocated, too, so that those around each place fit a frame.

    ``at`` is the loop that a buffer is declared in, ``""`` for none; ``paths`` are the loops around
    each place. The largest go first, and of those the outermost.
    """
    moved: set[str] = set()
    for path in paths:
        around = ["", *path]
        order = [key for loop in around for key in buffers if at[key] == loop]
        kept = [key for key in order if not buffers[key].is_allocated and key not in moved]
        total = sum(stack_bytes(buffers[key]) for key in kept)
        for key in sorted(kept, key=lambda key: -stack_bytes(buffers[key])):
            if total <= FRAME_BYTES or not buffers[key].extents:
                break
            moved.add(key)
            total -= stack_bytes(buffers[key])
    return frozenset(moved)


def stack_bytes(buffer: Buffer) -> int:
    """The bytes of a buffer on the stack, its padding included."""
    return scalar(buffer.symbol.type).bytes * prod(number_of(e) or 1 for e in buffer.extents)
