"""Parallel reductions: threads share sums in blocks of a loop, where their order is free.

rewrite: ``for (i) for (j) y[j] += A[i][j];`` -> blocks of ``i`` that threads share, each with
sums ``y`` of its own, which are added in the order of the blocks.

The number of blocks depends on sizes alone, so that as many threads as there are get one result.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.errors import UserError
from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.model.objective import CLEARLY, is_worth_sharing, predicted_sharing
from polyopt.scheduler.queries import checked, free_reductions
from polyopt.transform.legality.parallel import shared_sums
from polyopt.transform.schedule.query import find_loop, path_to
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import prefix_map

if TYPE_CHECKING:
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: blocks of a loop, at most; fewer than so many per core are no even shares
BLOCKS, PER_CORE = 32, 2
#: updates of a block for each element that it has to set, and to add in the end: these two take
#: the part of its time by which plans are clearly apart
WORTH = 2 / (1 - CLEARLY)


def sums_in_blocks(plan: Plan, loop: PlanLoop, model: SearchContext) -> tuple[Plan, Remark] | None:
    """The plan with blocks of a loop shared by threads, if its iterations share sums alone."""
    program = plan.program
    statements = {program.copies[name].statement for name in loop.copies}
    names = free_reductions(statements, model)
    if not names or loop.mark not in {"", "vector"}:
        return None
    if not is_worth_sharing(*predicted_sharing(plan, model, loop.name)):
        return None
    updates = _updates(program, loop, model)
    iterations = trips(program, loop, model.sizes)
    try:
        arrays = _shared(plan.reassociate(*names), loop, 1)[1]
        elements = sum(_elements(plan, array, model) for array in arrays)
        blocks = int(min(BLOCKS, iterations, updates / (WORTH * max(1, elements))))
        if not arrays or blocks < PER_CORE * model.target.cores:
            return None
        own = sorted(s.name for s in statements if s.array in arrays and s.name in names)
        changed, _ = _shared(plan.reassociate(*own), loop, ceil(iterations / blocks))
    except UserError:
        return None
    reason = f"blocks have sums {', '.join(arrays)} of their own, added in their order"
    numbers = {"blocks": float(blocks), "elements": float(elements)}
    return changed, Remark("applied", "reassociate", loop.name, reason, numbers=numbers)


def _updates(program: ScheduledProgram, loop: PlanLoop, model: SearchContext) -> float:
    """The instances in a loop, each time that it is entered."""
    total = 0.0
    level = len(path_to(program, loop.name)) - 1
    for name in loop.copies:
        copy = program.copies[name]
        around = prefix_map(copy, program.places[name].loops[:level]).range()
        total += about(copy.domain, model.sizes) / max(1, about(around, model.sizes))
    return total


def _shared(plan: Plan, loop: PlanLoop, size: int) -> tuple[Plan, list[str]]:
    """The plan with a loop in blocks that threads share, and the arrays that they add to.

    Raises the refusal of the mark.
    """
    plan = plan.split(loop.name, size)
    outer = path_to(plan.program, loop.name)[-2].name
    plan = checked(plan.parallelize(outer), outer)
    return plan, sorted(shared_sums(plan.program, find_loop(plan.program, outer)))


def _elements(plan: Plan, name: str, model: SearchContext) -> int:
    """The elements of an array that a block may have to keep: infinitely many beyond a cache."""
    array = plan.scop.array(name)
    size = array_bytes(array, model.sizes)
    return size // array.type.bytes if size <= model.target.l2_bytes else 2**62
