"""How long a plan takes, estimated: arithmetic, bytes past each cache, starts of loops, balance.

In operations of one lane, the unit of ``work``: only comparisons between plans of one program mean
something. What a cache holds is decided by all buffers of a loop together.
"""

from __future__ import annotations

from math import ceil, prod
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.analysis.sets.points import parameter_value
from polyopt.scheduler.model.cost import cost, instances_of, rolled, trips
from polyopt.transform.schedule.tree import PlanLoop, loops_of, prefix_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.target import Target
    from polyopt.transform.schedule.program import ScheduledProgram

#: to load or store a byte beyond the second-level cache, and beyond the first
FAR, NEAR = 6.0, 0.75
#: the same for values in buffers beyond the first-level cache, which run in long rows
STREAMED = 0.1
#: to start a loop of vectors: its first and last iterations fill none
START = 640.0
#: to start on another row of an array in memory: prefetching has to find it
RUN = 3400.0


def estimate(
    program: ScheduledProgram, sizes: Mapping[str, int], machine: Target, threads: int
) -> float:
    """Operations of a lane that the busiest of some threads does, all else in terms of them."""
    bill = cost(program, sizes, machine)
    total = float(bill.operations)
    total += FAR * bill.bytes_moved + NEAR * sum(bill.moved["L2"].values())
    total += _passing(program, sizes, machine)
    total += START * _starts(program, sizes)
    total += RUN * _runs(program, sizes, bill.moved["memory"])
    return total * _imbalance(program, sizes, threads) / threads


def _passing(program: ScheduledProgram, sizes: Mapping[str, int], machine: Target) -> float:
    """What the values in buffers cost that leave a cache before they are read.

    Buffers of one loop are in use together. Where they fill a cache, each value that is put into
    them is stored to the next one and loaded from there.
    """
    size: dict[str, float] = {}
    for scratch in program.scratches:
        each = program.scop.array(scratch.array).type.bytes
        extents = (parameter_value(e, sizes) for e in scratch.extents)
        size[scratch.at] = size.get(scratch.at, 0) + each * prod(extents)
    total = 0.0
    for place in program.places.values():
        copy = program.copies[place.copy]
        scratch = program.scratch(place.copy, copy.statement.array)
        if scratch is None:
            continue
        moved = instances_of(copy, sizes) * program.scop.array(scratch.array).type.bytes
        if size[scratch.at] > machine.l2_bytes:
            total += 2 * FAR * moved
        elif size[scratch.at] > machine.l1_bytes:
            total += 2 * STREAMED * moved
    return total


def _starts(program: ScheduledProgram, sizes: Mapping[str, int]) -> int:
    """How often loops of vectors are entered."""
    total = 0
    for place in program.places.values():
        loops = rolled(place)
        if loops and loops[-1].mark == "vector":
            outer = prefix_map(program.copies[place.copy], loops[:-1]).range()
            total += about(outer, sizes)
    return total


def _runs(program: ScheduledProgram, sizes: Mapping[str, int], moved: Mapping[str, int]) -> float:
    """How many rows, or parts of rows, of arrays pass between memory and cache, from the bytes
    ``moved`` of each: a run is as long as the loop of vectors that goes along it."""
    longest: dict[str, float] = {}
    for place in program.places.values():
        loops = rolled(place)
        if not loops or loops[-1].mark != "vector":
            continue
        copy = program.copies[place.copy]
        length = trips(program, loops[-1], sizes)
        for array in (copy.statement.array, *program.arrays_read(place.copy)):
            if array not in moved:
                continue
            run = length * program.scop.array(array).type.bytes
            longest[array] = min(run, longest.get(array, run))
    return sum(moved[array] / max(1.0, run) for array, run in longest.items())


def _imbalance(program: ScheduledProgram, sizes: Mapping[str, int], threads: int) -> float:
    """The share of the busiest thread over an even share, in the nest that is shared worst."""
    worst = 1.0
    for node in program.tree:
        if isinstance(node, PlanLoop):
            shared = [loop for loop in loops_of((node,)) if loop.mark == "parallel"]
            most = max((trips(program, loop, sizes) for loop in shared), default=1.0)
            worst = max(worst, ceil(most / threads) * threads / most)
    return worst
