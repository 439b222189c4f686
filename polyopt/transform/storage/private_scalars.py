"""Private scalars: locals of a producer's loops come along when the producer is fused.

rewrite: ``for (y) { s = 0; for (k) s += a[y][k]; bx[y] = s; }`` fused into a tile is the whole
body per tile, not only the store to ``bx``.

*Requires* that the local is private to an iteration of the producer's loops. *Fails when* it
carries values between iterations (the proof).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.transform.schedule.tree import loops_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.isl import Map
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.storage import StorageDirective


def companions(program: ScheduledProgram, names: Sequence[str]) -> tuple[str, ...]:
    """The copies, in textual order, that write locals which ``names`` read, also through others."""
    group = set(names)
    grown = True
    while grown:
        local = {a for n in group for a in _reads(program, n) if program.scop.array(a).private}
        writers = {n for n in program.places if program.copies[n].statement.array in local}
        more = {n for n in writers if not program.copies[n].outer} - group
        group |= more
        grown = bool(more)
    return tuple(n for n in program.places if n in group and n not in names)


def local_instances(
    program: ScheduledProgram, others: Sequence[str], instances: Mapping[str, Map]
) -> dict[str, Map]:
    """``{ [t] -> P[j] }`` of ``others`` too: those that write the locals which instances read."""
    result = dict(instances)
    for _ in range(len(others) + 1):
        for name in others:
            copy = program.copies[name]
            writes = copy.statement.write.relation.intersect_domain(copy.instances)
            for needed in list(_needed(program, result, copy.statement.array)):
                part = needed.apply_range(writes.reverse())
                result[name] = (result[name].union(part) if name in result else part).coalesce()
    return result


def _needed(program: ScheduledProgram, instances: Mapping[str, Map], array: str) -> Iterator[Map]:
    """``{ [t] -> A[x] }`` that instances read of a local."""
    for name, part in instances.items():
        for access in program.copies[name].statement.reads:
            if access.array == array:
                yield part.apply_range(access.relation)


def local_stores(
    before: ScheduledProgram, after: ScheduledProgram, others: Sequence[str], depth: int
) -> ScheduledProgram:
    """The program ``after`` with buffers of their own for locals that were copied to ``depth``."""
    new = {after.copies[c].statement.name: c for c in after.copies if c not in before.copies}
    added: dict[str, StorageDirective] = {}
    for name in others:
        statement = before.copies[name].statement
        around = [loop.name for loop in before.places[name].loops]
        for store in before.stores:
            if store.array == statement.array and store.at in around and statement.name in new:
                place = after.places[new[statement.name]]
                at = place.loops[depth + around.index(store.at)].name
                added[f"{store.name}@{at}"] = replace(
                    store, name=f"{store.name}@{at}", at=at, within=""
                )
    return replace(after, stores=(*after.stores, *added.values()))


def unread_elsewhere(
    program: ScheduledProgram, names: Sequence[str], others: Sequence[str]
) -> set[str]:
    """Those of ``others`` whose locals nobody reads who stays when ``names`` and they go."""
    going = set(others)
    while True:
        staying = [n for n in program.places if n not in going and n not in names]
        wanted = {a for n in staying for a in _reads(program, n)}
        kept = {n for n in going if program.copies[n].statement.array in wanted}
        if not kept:
            return going
        going -= kept


def without_lost_stores(program: ScheduledProgram) -> ScheduledProgram:
    """The program without the buffers of loops that it no longer has."""
    there = {"", *(loop.name for loop in loops_of(program.tree))}
    return replace(
        program, stores=tuple(s for s in program.stores if s.at in there and s.within in there)
    )


def _reads(program: ScheduledProgram, name: str) -> set[str]:
    return {access.array for access in program.copies[name].statement.reads}
