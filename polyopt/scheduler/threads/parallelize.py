"""Parallel loops: the outermost that carry no dependence and have work for all threads.

Short ones are collapsed with those directly inside of them: threads start once for all.

Where the order of sums is free, blocks of a loop whose iterations share nothing but sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.errors import ParallelCarriedError, UserError
from polyopt.scheduler.model.instances import constant_trips, trips
from polyopt.scheduler.model.objective import is_worth_sharing, predicted_sharing
from polyopt.scheduler.queries import checked
from polyopt.scheduler.threads.parallel_reductions import sums_in_blocks
from polyopt.scheduler.threads.static_schedule import has_one_each
from polyopt.transform.legality.parallel import shared_sums
from polyopt.transform.schedule.query import find_loop, path_to
from polyopt.transform.schedule.rectangular import is_rectangular
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.schedule.tree import PlanLoop

if TYPE_CHECKING:
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.tree import Tree

#: iterations per thread that keep the shares even
PER_THREAD = 4


def parallelize_outer(plan: Plan, model: SearchContext) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with one parallel loop in every nest that has one."""
    remarks: list[Remark] = []
    if model.target.cores < 2:
        return plan, (Remark("not considered", "parallelize", "all loops", "one core"),)
    for node in plan.program.tree:
        if isinstance(node, PlanLoop):
            plan, said = _in_nest(plan, node, model)
            remarks += said
    return plan, tuple(remarks)


@dataclass(frozen=True)
class _Shared:
    """Loops directly inside of each other that are independent and marked in a plan, so that
    threads share the iterations of all of them."""

    plan: Plan
    loops: tuple[PlanLoop, ...] = ()
    iterations: float = 1.0


def _in_nest(plan: Plan, root: PlanLoop, model: SearchContext) -> tuple[Plan, list[Remark]]:
    """Mark the first loop, from the outside in, that is independent and long enough, alone or
    together with independent ones directly around it, which are too short."""
    remarks: list[Remark] = []
    shared = fallback = _Shared(plan)
    level: Tree = (root,)
    while level:
        loop = level[0]
        if len(level) > 1 or isinstance(loop, str):
            if not fallback.loops:
                return _in_each(plan, level, remarks, model)
            break
        level = loop.body
        summed = None if fallback.loops else sums_in_blocks(plan, loop, model)
        if summed is not None:
            return summed[0], [*remarks, summed[1]]
        if loop.mark:
            break
        shared = _around(shared, plan, loop)
        too_short = _too_short(plan, (*shared.loops, loop)[0], model)
        if too_short is not None:
            remarks.append(replace(too_short, subject=loop.name))
            break
        try:
            marked = independent(shared.plan, loop)
        except UserError as error:
            remarks.append(refusal("parallelize", loop.name, error))
            shared = _Shared(plan)
            continue
        numbers = {"iterations": trips(plan.program, loop, model.sizes)}
        reason = "too few iterations to share evenly"
        remarks.append(Remark("refused", "parallelize", loop.name, reason, numbers=numbers))
        shared = _with(shared, marked, loop, numbers["iterations"])
        if shared.iterations >= PER_THREAD * model.target.cores:
            return _applied(plan, shared, remarks, model)
        fallback = max(fallback, shared, key=lambda each: each.iterations if each.loops else 0)
    if not fallback.loops:
        return plan, remarks
    return _applied(plan, fallback, remarks, model, few=True)


def _around(shared: _Shared, plan: Plan, loop: PlanLoop) -> _Shared:
    """What a loop can be shared together with: nothing where its iterations depend on that, or
    where they are parts of a tile, which is one thread's: it goes through the points of one, or is
    directly around these, as in strip-mined loops."""
    path = path_to(plan.program, loop.name)
    points = [loop, *(inner for inner in loop.body if isinstance(inner, PlanLoop))]
    is_in_tile = any(outer.blocks_of is one.origin for outer in path[:-1] for one in points)
    fits = all(is_rectangular(plan.program, outer, loop) for outer in shared.loops)
    return _Shared(plan) if is_in_tile or not fits else shared


def _with(shared: _Shared, marked: Plan, loop: PlanLoop, count: float) -> _Shared:
    """Loops with one more, marked in a plan; without it where there is one iteration of all."""
    if not shared.loops and constant_trips(marked.program, loop) == 1:
        return shared
    return _Shared(marked, (*shared.loops, loop), shared.iterations * count)


def _applied(
    plan: Plan, shared: _Shared, remarks: list[Remark], model: SearchContext, *, few: bool = False
) -> tuple[Plan, list[Remark]]:
    """The plan whose loops are for threads, with the schedule that suits them, and what to say."""
    marked, names = shared.plan, [loop.name for loop in shared.loops]
    reason = "its iterations are independent"
    if few:
        reason += ": few, but there is no better loop"
    elif has_one_each(marked.program, [find_loop(marked.program, name) for name in names], model):
        marked = plan.parallelize(names[0], schedule="static")
        for name in names[1:]:
            marked = marked.parallelize(name)
        reason += ", and each thread has the same in every call"
    told = [_told(remark, names, reason) for remark in remarks]
    return marked, told


def _told(remark: Remark, names: list[str], reason: str) -> Remark:
    """What to say of a loop once threads share loops."""
    if remark.subject not in names:
        return remark
    others = ", ".join(name for name in names if name != remark.subject)
    together = f"; shared together with {others}" if others else ""
    return replace(remark, kind="applied", reason=reason + together)


def independent(plan: Plan, loop: PlanLoop) -> Plan:
    """The plan with a loop for threads. Raises the refusal, also where they would share sums."""
    marked = checked(plan.parallelize(loop.name), loop.name)
    shared = shared_sums(marked.program, find_loop(marked.program, loop.name))
    if shared:
        message = f"each iteration of {loop.name} would have its own sums: {', '.join(shared)}"
        raise ParallelCarriedError(message)
    return marked


def _in_each(
    plan: Plan, nests: Tree, remarks: list[Remark], model: SearchContext
) -> tuple[Plan, list[Remark]]:
    """No loop around them is independent: each nest gets a parallel loop of its own."""
    for node in nests:
        if isinstance(node, PlanLoop):
            plan, said = _in_nest(plan, node, model)
            remarks = [*remarks, *said]
    return plan, remarks


def _too_short(plan: Plan, loop: PlanLoop, model: SearchContext) -> Remark | None:
    """Why a loop inside others is not shared each time that it is entered, if so.

    The outermost loop of a nest is entered once: each call sees for itself whether that pays.
    """
    if len(path_to(plan.program, loop.name)) == 1:
        return None
    alone, shared = predicted_sharing(plan, model, loop.name)
    if is_worth_sharing(alone, shared):
        return None
    reason = "waking threads would take longer than they save"
    numbers = {"predicted ns": alone, "on all threads": shared}
    return Remark("refused", "parallelize", loop.name, reason, numbers=numbers)
