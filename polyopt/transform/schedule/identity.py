"""The identity schedule: the source's loops, locals of loops in their own scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.ir.scop import statements_in
from polyopt.isl import dim_type, maps_of, tuple_name
from polyopt.transform.schedule.program import ScheduledProgram
from polyopt.transform.schedule.storage import StorageDirective
from polyopt.transform.schedule.tree import (
    PlanLoop,
    ScheduledStatement,
    Tree,
    iterator_value,
    source_copy,
)

if TYPE_CHECKING:
    from polyopt.ir.scop import Loop, Scop
    from polyopt.isl import UnionMap


def initial_program(scop: Scop) -> ScheduledProgram:
    """The program in source order; every access on its own array, except privatised locals."""
    copies = {s.name: source_copy(s, scop.context) for s in scop.statements}
    tree = _tree(scop, copies, scop.nest, 0, set())
    program = ScheduledProgram(scop, copies, tree)
    return ScheduledProgram(scop, copies, tree, _local_stores(program))


def source_program(scop: Scop) -> ScheduledProgram:
    """The program in source order with every access on its own (expanded) array."""
    program = initial_program(scop)
    return ScheduledProgram(scop, program.copies, program.tree)


def _tree(
    scop: Scop,
    copies: dict[str, ScheduledStatement],
    body: tuple[Loop | str, ...],
    level: int,
    taken: set[str],
) -> Tree:
    result: list[PlanLoop | str] = []
    for node in body:
        if isinstance(node, str):
            result.append(node)
            continue
        inside = [*statements_in(node)]
        name = _loop_name(scop, inside, node.iterator, taken)
        values = {s: iterator_value(copies[s], level, node.step) for s in inside}
        result.append(PlanLoop(name, values, _tree(scop, copies, node.body, level + 1, taken)))
    return tuple(result)


def _loop_name(scop: Scop, inside: list[str], iterator: str, taken: set[str]) -> str:
    """``array.iterator`` for the last array written inside; else by statement."""
    arrays = [scop.statement(name).array for name in inside]
    visible = [a for a in arrays if not scop.array(a).private] or arrays
    owners = (visible[-1], inside[-1], inside[0])
    candidates = [f"{owner}.{iterator}" for owner in owners]
    name = next((c for c in candidates if c not in taken), "")
    number = 2
    while not name:
        trial = f"{inside[-1]}.{iterator}{number}"
        name = trial if trial not in taken else ""
        number += 1
    taken.add(name)
    return name


def _local_stores(program: ScheduledProgram) -> tuple[StorageDirective, ...]:
    """Locals declared in loops live for one iteration of the innermost loop around them."""
    result: list[StorageDirective] = []
    for array in program.scop.arrays:
        users = [
            place
            for place in program.places.values()
            if array.private and _uses(program, place.copy, array.name)
        ]
        if users:
            loop = users[0].loops[array.private - 1]
            result.append(StorageDirective(f"{array.name}@{loop.name}", array.name, loop.name))
    return tuple(result)


def _uses(program: ScheduledProgram, copy: str, array: str) -> bool:
    statement = program.copies[copy].statement
    return statement.array == array or any(a.array == array for a in statement.reads)


def reads_unwritten(scop: Scop, no_source: UnionMap) -> bool:
    """Whether a read finds what neither the caller gives nor a statement wrote, where
    ``{ R[d, x] -> cell }`` are the reads of the source's flow that nothing wrote for.

    That flow says nothing of arrays without a writer.
    """
    given = {a.name for a in scop.arrays if a.is_live_in}
    written = {s.array for s in scop.statements}
    if any(a.array not in given | written for s in scop.statements for a in s.reads):
        return True
    return any(
        tuple_name(part, dim_type.out) not in given
        and not tuple_name(part, dim_type.in_).startswith("end:")
        and not part.is_empty()
        for part in maps_of(no_source)
    )
