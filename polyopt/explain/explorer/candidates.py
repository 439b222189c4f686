"""Moves that one may want to make at a loop or with a producer, legal or not."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from polyopt.explain.choices.placements import producers
from polyopt.transform.loops.interchange import perfect_chain
from polyopt.transform.schedule.move import Move
from polyopt.transform.schedule.query import find_loop
from polyopt.transform.schedule.tree import PlanLoop, loops_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram

#: iterations of a tile's edge, of rows that run together, and of a diamond, that are proposed
_EDGE, _ROWS, _DIAMOND = 32, 4, 64


def subjects(plan: Plan) -> list[str]:
    """What moves are proposed for: each loop, and each producer that is not placed yet."""
    return [loop.name for loop in loops_of(plan.program.tree)] + _producers(plan)


def candidates(plan: Plan, subject: str) -> list[Move]:
    """The moves at a loop, or those that place a producer: none for one that is placed already.

    Raises ``UnknownNameError`` for what is neither.
    """
    if subject in producers(plan.scop):
        return list(_placing(plan, subject)) if subject in _producers(plan) else []
    loop = find_loop(plan.program, subject)
    return list(_at(plan.program, loop))


def _producers(plan: Plan) -> list[str]:
    program = plan.program
    roots = {n for n in program.places if not program.copies[n].outer}
    return [
        name for name in producers(plan.scop)
        if name not in program.inlined and any(m in roots for m in program.makers(name))
    ]  # fmt: skip


def _placing(plan: Plan, producer: str) -> Iterator[Move]:
    """Into each nest that reads it, at its innermost block loop or its loops; and inline."""
    program = plan.program
    yield Move("inline", (producer,))
    readers = (program.copies[n].statement.array for n in program.readers(producer))
    for reader in dict.fromkeys(r for r in readers if r != producer):
        into = ("into", reader)
        yield Move("fuse", (producer,), (into,))
        for loop in plan.loops(reader):
            yield Move("fuse", (producer,), (into, ("at", loop)))
        yield Move("fuse", (producer,), (into, ("storage", "sliding")))


def _at(program: ScheduledProgram, loop: PlanLoop) -> Iterator[Move]:
    inner = loop.body[0] if len(loop.body) == 1 else None
    child = inner if isinstance(inner, PlanLoop) else None
    innermost = not any(isinstance(node, PlanLoop) for node in loop.body)
    if not loop.mark:
        yield Move("parallelize", (loop.name,))
    if innermost and not loop.mark:
        yield Move("vectorize", (loop.name,))
    yield from _together(program, loop, child)
    if loop.blocks_of is None:
        yield Move("split", (loop.name, _EDGE))
        yield Move("reverse", (loop.name,))
    else:
        yield Move("separate_full_tiles", (loop.name,))
    if not innermost and loop.blocks_of is None and not loop.mark:
        yield Move("unroll_and_jam", (loop.name, _ROWS))
    if after := _after(program, loop):
        yield Move("fuse_loops", (loop.name, after))
    if len(loop.body) > 1 and innermost:
        yield Move("distribute", (loop.name,), (("at", str(loop.body[1])),))


def _together(program: ScheduledProgram, loop: PlanLoop, child: PlanLoop | None) -> Iterator[Move]:
    """Moves of a loop and the one that it alone has inside."""
    if child is None:
        return
    yield Move("interchange", (loop.name, child.name))
    if loop.blocks_of is not None or child.blocks_of is not None:
        return
    yield Move("skew", (child.name,), (("by", loop.name),))
    chain = perfect_chain(program, [loop.name, child.name])
    if loop.owner == child.owner and len(chain) == 2:
        edges = (loop.iterator, _EDGE), (child.iterator, _EDGE)
        yield Move("tile", (loop.owner,), edges)
    yield Move("diamond", (loop.name, child.name, _DIAMOND))


def _after(program: ScheduledProgram, loop: PlanLoop) -> str:
    """The loop that follows a loop directly, beside it."""
    for siblings in (program.tree, *(n.body for n in loops_of(program.tree))):
        for one, other in pairwise(siblings):
            if one is loop and isinstance(other, PlanLoop):
                return other.name
    return ""
