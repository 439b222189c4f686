"""Intermediate arrays whose elements live within one iteration of a loop, kept for one iteration.

rewrite: ``for (i) { for (j) tmp[i][j] = ...; for (j) ... tmp[i][M - j]; }`` -> the same with
``row[j]`` private to each ``i``: it stays in the cache, and threads have one each.

*Requires* that no value is read in another iteration than it was written in: the proof says so.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from polyopt.analysis.sets.points import parameter_value
from polyopt.errors import UserError
from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.queries import loops_around_uses
from polyopt.transform.schedule.remark import Remark

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.tree import PlanLoop


def contracted(
    plan: Plan, model: SearchContext, legal: Callable[[Plan], bool]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with large intermediate arrays kept for one iteration of a loop where that will do.

    ``legal`` says whether a plan is proven.
    """
    remarks: list[Remark] = []
    kept = {store.array for store in plan.program.stores} | plan.program.inlined
    for array in plan.scop.arrays:
        size = array_bytes(array, model.sizes)
        if array.role != "temp" or array.name in kept or size <= model.target.l2_bytes:
            continue
        for loop in reversed(loops_around_uses(plan.program, array.name)):
            found = _kept_in(plan, array.name, loop, model)
            if found is None or not legal(found[0]):
                continue
            plan, small = found
            reason = "its elements live within one iteration"
            numbers = {"bytes": float(small), "instead of": float(size)}
            done = Remark("applied", "store", array.name, reason, loop.name, numbers=numbers)
            remarks.append(done)
            break
    return plan, tuple(remarks)


def _kept_in(
    plan: Plan, array: str, loop: PlanLoop, model: SearchContext
) -> tuple[Plan, int] | None:
    """The plan with a buffer for an array in a loop, and its bytes, if a cache holds it."""
    try:
        changed = plan.store(array, at=loop.name)
        scratch = changed.program.scratches[-1]
    except UserError:
        return None
    extents = [parameter_value(extent, model.sizes) for extent in scratch.extents]
    small = prod(extents) * plan.scop.array(array).type.bytes
    return (changed, small) if small <= model.target.l2_bytes else None
