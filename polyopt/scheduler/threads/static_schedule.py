"""Static or dynamic schedules: one piece of a parallel loop for each thread, or several, as it gets
free.

A thread that runs the same iterations in every call finds rows of the last one in its own cache,
and neighbouring iterations find what they share. Taken as threads get free, pieces go to another
thread in each call, which makes up for one that is slower than the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.isl import dim_type, fix_param_values, integer_val
from polyopt.scheduler.model.cache import argument_bytes
from polyopt.scheduler.model.machine import costs_of
from polyopt.scheduler.model.objective import NOISE
from polyopt.scheduler.model.time import predict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop


def has_one_each(
    program: ScheduledProgram, loops: Sequence[PlanLoop], model: SearchContext
) -> bool:
    """Whether threads that share loops, directly inside of each other, better have one piece each,
    the same in every call.

    So it is where caches hold all that a call works on, moving it takes longer than computing, and
    all iterations do the same.
    """
    if argument_bytes(program.scop, model.sizes) > model.target.last_bytes:
        return False
    if program.tree != (loops[0],):
        return False
    if not all(_is_even(program, loop, level, model) for level, loop in enumerate(loops)):
        return False
    (nest,) = predict(program, model.sizes, model.target).nests
    moving = sum(nest.traffic.values()) / costs_of(model.target).exposed
    return moving > sum(nest.compute.values())


def _is_even(program: ScheduledProgram, loop: PlanLoop, level: int, model: SearchContext) -> bool:
    """Whether an early iteration of a loop at a level of a nest does as much as a late one."""
    for name in loop.copies:
        #: { [t] } : the loops around a copy, at the sizes to be fast for
        values = fix_param_values(program.prefixes[name].range(), model.sizes)
        if values.is_empty():
            continue
        low, high = (v.to_python() for v in (values.dim_min_val(level), values.dim_max_val(level)))
        quarter = (high - low) // 4
        early, late = (
            about(values.fix_val(dim_type.set, level, integer_val(value)), model.sizes)
            for value in (low + quarter, high - quarter)
        )
        if abs(early - late) > NOISE * max(early, late):
            return False
    return True
