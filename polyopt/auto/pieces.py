"""Producers of nests in register tiles, computed piece by piece in an outer loop of their reader.

Operands of a tile lie in an array of their own, such as an image with a frame around it. Where the
iterations of an outer loop read parts of it that have nothing in common, each computes its part:
it is read from a near cache, and made by the thread that needs it.

rewrite: ``for (c) P[c] = ..; for (c) T[c] = f(P[c]);`` ->
``for (c) { p = ..; T[c] = f(p); }``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.count import about
from polyopt.auto.cost import trips
from polyopt.auto.grouping import in_blocks
from polyopt.codegen.program import constant_bytes
from polyopt.errors import PolyoptError
from polyopt.transform.remark import Remark
from polyopt.transform.tree import PlanLoop, copies_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.auto.grouping import Model
    from polyopt.transform.plan import Plan
    from polyopt.transform.program import Program


def pieces(plan: Plan, model: Model) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with such producers in the innermost loop that shares nothing of them."""
    remarks: list[Remark] = []
    for array in list(dict.fromkeys(_producers(plan.program))):
        found = _in_pieces(plan, array, model)
        if found is None:
            continue
        plan, loop, size = found
        numbers = {"bytes": float(size), "recompute": 1.0}
        reason = f"each iteration of {loop} reads a part of its own"
        remarks.append(Remark("applied", "fuse", array, reason, numbers=numbers))
    return plan, tuple(remarks)


def _producers(program: Program) -> Iterator[str]:
    """Temporary arrays in full that nests with register tiles read, and others write."""
    blocks = in_blocks(program)
    kept = {scratch.array for scratch in program.scratches}
    for name, place in program.places.items():
        if program.copies[name].statement.array not in blocks or not place.loops:
            continue
        for array in program.arrays_read(name):
            if program.scop.array(array).role == "temp" and array not in kept | blocks:
                yield array


def _in_pieces(plan: Plan, array: str, model: Model) -> tuple[Plan, str, int] | None:
    """The plan with a producer in pieces, the loop, and the bytes of a piece."""
    program, sizes = plan.program, model.sizes
    readers = [n for n in program.readers(array) if program.copies[n].statement.array != array]
    writers = [n for n in program.places if program.copies[n].statement.array == array]
    roots = {program.places[name].loops[0].name for name in readers if program.places[name].loops}
    if len(roots) != 1 or len(writers) != 1 or program.copies[writers[0]].outer:
        return None
    wanted = about(program.copies[writers[0]].domain, sizes)
    host = next((n for n in readers if not program.copies[n].outer), None) or _host(program, roots)
    best: tuple[Plan, str, int] | None = None
    for loop in _shared_loops(program, readers):
        if trips(program, loop, sizes) < model.target.cores:
            continue
        try:
            made = plan.fuse(array, into=program.copies[host].statement.array, at=loop.name)
        except PolyoptError:
            break
        size = _piece(made.program, array)
        if _instances(made.program, array, sizes) > wanted or size is None:
            break
        if size <= model.target.l2_bytes // 2:
            best = made, loop.name, size
    if best is None:
        return None
    try:
        best[0].prove()
    except PolyoptError:
        return None
    return best


def _host(program: Program, roots: set[str]) -> str:
    """The statement whose own loops a nest runs in."""
    return next(
        name for name, place in program.places.items()
        if place.loops and place.loops[0].name in roots and not program.copies[name].outer
    )  # fmt: skip


def _shared_loops(program: Program, readers: list[str]) -> Iterator[PlanLoop]:
    """The loops around all readers, from the outside in, before the marked one."""
    path = program.places[readers[0]].loops
    for loop in path:
        if loop.mark or not set(readers) <= set(copies_in(loop)):
            return
        yield loop


def _instances(program: Program, array: str, sizes: Mapping[str, int]) -> float:
    copies = [c for n, c in program.copies.items() if c.statement.array == array
              and n in program.places]  # fmt: skip
    return sum(about(copy.domain, sizes) for copy in copies)


def _piece(program: Program, array: str) -> int | None:
    """Bytes of the buffer of a piece; ``None`` where they are not constant."""
    scratch = next((s for s in program.scratches if s.array == array), None)
    if scratch is None:
        return None
    return constant_bytes(scratch.extents, program.scop.array(array).type.bytes)
