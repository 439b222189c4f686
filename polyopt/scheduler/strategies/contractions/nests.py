"""A statement's loops: by its dimensions, their blocks, and in a nest of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import IllegalScheduleError
from polyopt.isl import dim_type
from polyopt.scheduler.queries import widen_locals
from polyopt.scheduler.subscripts import dimension_of
from polyopt.transform.schedule.tree import copies_in

if TYPE_CHECKING:
    from collections.abc import Collection

    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop


def point_loop(program: ScheduledProgram, copy: str, dim: int) -> PlanLoop:
    """The loop whose value is a dimension of a copy's statement.

    Raises ``IllegalScheduleError`` where there is none.
    """
    wanted = program.copies[copy].outer + dim
    for loop in program.places[copy].loops:
        if dimension_of(program, copy, loop) == wanted:
            return loop
    message = f"no loop of {copy} is its dimension {dim}"
    raise IllegalScheduleError(message)


def block_loop(program: ScheduledProgram, copy: str, dim: int) -> str:
    """The innermost loop over blocks of a dimension of a copy's statement."""
    wanted = program.copies[copy].outer + dim
    return [
        loop.name
        for loop in program.places[copy].loops
        if loop.values[copy].involves_dims(dim_type.in_, wanted, 1)
        and dimension_of(program, copy, loop) is None
    ][-1]


def isolated(plan: Plan, copy: str, dims: Collection[int]) -> Plan:
    """The plan with a copy in a nest of its own, from the first loop on that is one of these
    dimensions of its statement."""
    wanted = {plan.program.copies[copy].outer + d for d in dims}
    while True:
        path = plan.program.places[copy].loops
        mine = [dimension_of(plan.program, copy, loop) in wanted for loop in path]
        shared = [loop for loop in path[mine.index(True) :] if len(copies_in(loop)) > 1]
        if not shared:
            return plan
        plan = distributed(widen_locals(plan, shared[-1]), copy, shared[-1])


def distributed(plan: Plan, copy: str, loop: PlanLoop) -> Plan:
    """The plan with a loop in two, the second of which starts with a copy, or the first ends."""
    inside = copies_in(loop)
    at = inside.index(copy)
    return plan.distribute(loop.name, at=inside[at] if at else inside[1])
