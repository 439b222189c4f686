"""Producers of nests in register tiles, computed piece by piece in an outer loop of their reader.

Operands of a tile lie in an array of their own, such as an image with a frame around it. Where the
iterations of an outer loop read parts of it that have nothing in common, each computes its part:
it is read from a near cache, and made by the thread that needs it. So is what the part is made of.

rewrite: ``for (c) P[c] = ..; for (c) T[c] = f(P[c]);`` ->
``for (c) { p = ..; T[c] = f(p); }``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.codegen.expressions.affine import constant_bytes
from polyopt.errors import UserError
from polyopt.scheduler.model.instances import constant_trips, trips
from polyopt.scheduler.queries import in_blocks, is_legal
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop, copies_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram


def pieces(plan: Plan, model: SearchContext) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with such producers in the innermost loop that shares nothing of them."""
    remarks: list[Remark] = []
    blocks = in_blocks(plan.program)
    #: producers, and the loop that their readers were computed in
    waiting = [(array, "") for array in _operands(plan.program, blocks)]
    while waiting:
        array, last = waiting.pop(0)
        found = _in_pieces(plan, array, last, model)
        if found is None:
            continue
        plan, loop, size = found
        numbers = {"bytes": float(size), "recompute": 1.0}
        reason = f"each iteration of {loop} reads a part of its own"
        remarks.append(Remark("applied", "fuse", array, reason, numbers=numbers))
        waiting += [(operand, loop) for operand in _operands(plan.program, {array})]
    return plan, tuple(remarks)


def _operands(program: ScheduledProgram, arrays: set[str]) -> list[str]:
    """Temporary arrays in full that what writes these arrays reads, and others write."""
    kept = {scratch.array for scratch in program.scratches} | arrays
    read = (
        array
        for name, place in program.places.items()
        if program.copies[name].statement.array in arrays and place.loops
        for array in program.arrays_read(name)
    )
    found = dict.fromkeys(a for a in read if program.scop.array(a).role == "temp")
    return [array for array in found if array not in kept]


def _in_pieces(
    plan: Plan, array: str, last: str, model: SearchContext
) -> tuple[Plan, str, int] | None:
    """The plan with a producer in pieces, the loop, and the bytes of a piece.

    The loop is ``last`` or around it; with "" any. What runs in squares goes further inwards, as
    far as these are whole.
    """
    program, sizes = plan.program, model.sizes
    readers = [n for n in program.readers(array) if program.copies[n].statement.array != array]
    writers = [n for n in program.places if program.copies[n].statement.array == array]
    roots = {program.places[name].loops[0].name for name in readers if program.places[name].loops}
    if len(roots) != 1 or len(writers) != 1 or program.copies[writers[0]].outer:
        return None
    wanted = about(program.copies[writers[0]].domain, sizes)
    square = _square(program, array)
    host = next((n for n in readers if not program.copies[n].outer), None) or _host(program, roots)
    best: tuple[Plan, str, int] | None = None
    for loop in _shared_loops(program, readers, "" if square else last):
        if trips(program, loop, sizes) < model.target.cores:
            continue
        try:
            made = plan.fuse(array, into=program.copies[host].statement.array, at=loop.name)
        except UserError:
            break
        size = _piece(made.program, array)
        if _instances(made.program, array, sizes) > wanted or size is None:
            break
        if _square(made.program, array) != square:
            break
        if size <= model.target.l2_bytes // 2:
            best = made, loop.name, size
    return best if best is not None and is_legal(best[0]) else None


def _square(program: ScheduledProgram, array: str) -> list[int | None]:
    """Rows and columns of the squares that each writer of an array runs in, if it runs in some."""
    paths = (program.places[n].loops for n in program.places
             if program.copies[n].statement.array == array)  # fmt: skip
    return [
        constant_trips(program, loop)
        for path in paths
        if path and path[-1].mark == "vector"
        for loop in path[-2:]
    ]


def _host(program: ScheduledProgram, roots: set[str]) -> str:
    """The statement whose own loops a nest runs in."""
    return next(
        name for name, place in program.places.items()
        if place.loops and place.loops[0].name in roots and not program.copies[name].outer
    )  # fmt: skip


def _shared_loops(program: ScheduledProgram, readers: list[str], last: str) -> Iterator[PlanLoop]:
    """The loops around all readers, from the outside in, before the marked one, up to ``last``."""
    path = program.places[readers[0]].loops
    for loop in path:
        if loop.mark or not set(readers) <= set(copies_in(loop)):
            return
        yield loop
        if loop.name == last:
            return


def _instances(program: ScheduledProgram, array: str, sizes: Mapping[str, int]) -> float:
    copies = [c for n, c in program.copies.items() if c.statement.array == array
              and n in program.places]  # fmt: skip
    return sum(about(copy.domain, sizes) for copy in copies)


def _piece(program: ScheduledProgram, array: str) -> int | None:
    """Bytes of the buffer of a piece; ``None`` where they are not constant."""
    scratch = next((s for s in program.scratches if s.array == array), None)
    if scratch is None:
        return None
    return constant_bytes(scratch.extents, program.scop.array(array).type.bytes)
