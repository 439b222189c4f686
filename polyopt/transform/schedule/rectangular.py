"""Loops that OpenMP can collapse: those whose iterations do not depend on the loops around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.isl import dim_type
from polyopt.transform.schedule.query import path_to
from polyopt.transform.schedule.tree import prefix_map

if TYPE_CHECKING:
    from polyopt.isl import Set
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop


def is_rectangular(program: ScheduledProgram, outer: PlanLoop, loop: PlanLoop) -> bool:
    """Whether a loop has the same iterations in each one of a loop around it, for all its copies.

    relation: ``{ [.., o, .., l] }``, the values of the loops around, is all pairs of the ``o`` and
    the ``l`` that are in it.
    """
    path = path_to(program, loop.name)
    level = [one.name for one in path].index(outer.name)
    context = program.scop.context
    times = [
        prefix_map(program.copies[name], path).range().intersect_params(context)
        for name in loop.copies
    ]
    first = times[0]
    pairs = _without(first, level).intersect(_without(first, len(path) - 1))
    return first.is_equal(pairs) and all(first.is_equal(other) for other in times[1:])


def _without(times: Set, level: int) -> Set:
    """The times with any value at a level."""
    return times.eliminate(dim_type.set, level, 1)
