"""Legality of full unrolling: few iterations, whatever the sizes.

*Requires* that, for given outer iterations, the values of the loop lie in a range of constant
length. *Fails when* the length depends on the sizes, or all copies together are too many to
write down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import NotPermutableError
from polyopt.isl import Map, Set, dim_type
from polyopt.transform.schedule.limits import check_written
from polyopt.transform.schedule.tree import copies_in, loops_of

if TYPE_CHECKING:
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: more copies of one statement than this are no code that a compiler likes
MOST_COPIES = 4096


def check_unrolled(program: ScheduledProgram) -> None:
    """Raise ``NotPermutableError`` unless all unrolled loops can be written out, ``TooLargeError``
    where they are too much together."""
    trips: dict[str, int] = {}
    for loop in loops_of(program.tree):
        if loop.mark == "unroll":
            trips[loop.name] = _trips(program, loop)
    for place in program.places.values():
        product = 1
        for loop in place.loops:
            product *= trips.get(loop.name, 1)
            if product > MOST_COPIES:
                message = f"{loop.name} unrolled would make {product} copies of {place.copy}"
                hint = f"unroll by a factor; {MOST_COPIES} copies are the most"
                raise NotPermutableError(message, hint=hint)
    check_written(program, trips)


def _trips(program: ScheduledProgram, loop: PlanLoop) -> int:
    """The length of the longest range of values, for given outer iterations and sizes."""
    ranges = [_values(program, name, loop) for name in copies_in(loop)]
    values = ranges[0]
    for part in ranges[1:]:
        values = values.union(part)
    if values.is_empty():
        return 1
    depth = values.dim(dim_type.set)
    pairs = Map.universe(values.get_space().map_from_set())
    for level in range(depth - 1):
        pairs = pairs.equate(dim_type.in_, level, dim_type.out, level)
    apart = pairs.intersect_domain(values).intersect_range(values).deltas()
    longest = apart.project_out(dim_type.set, 0, depth - 1).dim_max_val(0)
    if not longest.is_int():
        message = f"{loop.name} runs a number of times that depends on the sizes or on other loops"
        hint = f"give a factor: unroll({loop.name!r}, 4); or unroll a loop of constant length"
        raise NotPermutableError(message, hint=hint)
    return longest.to_python() + 1


def _values(program: ScheduledProgram, name: str, loop: PlanLoop) -> Set:
    """``{ [t] }``: the values of the loop and of those around it, at one copy."""
    loops = program.places[name].loops
    depth = next(i for i, node in enumerate(loops, 1) if node.name == loop.name)
    values = program.prefixes[name].range().intersect_params(program.scop.context)
    return values.project_out(dim_type.set, depth, len(loops) - depth)
