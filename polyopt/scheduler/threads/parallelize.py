"""Parallel loops: the outermost that carry no dependence and have work for all threads.

Where the order of sums is free, blocks of a loop whose iterations share nothing but sums.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import ParallelCarriedError, UserError
from polyopt.scheduler.model.instances import constant_trips, trips
from polyopt.scheduler.model.objective import is_worth_sharing, predicted_sharing
from polyopt.scheduler.queries import checked
from polyopt.scheduler.threads.parallel_reductions import sums_in_blocks
from polyopt.scheduler.threads.static_schedule import has_one_each
from polyopt.transform.legality.parallel import shared_sums
from polyopt.transform.schedule.query import find_loop, path_to
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


def _in_nest(plan: Plan, root: PlanLoop, model: SearchContext) -> tuple[Plan, list[Remark]]:
    """Mark the first loop, from the outside in, that is independent and long enough."""
    sizes, cores = model.sizes, model.target.cores
    remarks: list[Remark] = []
    fallback: tuple[float, Plan, Remark] | None = None
    level: Tree = (root,)
    while level:
        loop = level[0]
        if len(level) > 1 or isinstance(loop, str):
            if fallback is None:
                return _in_each(plan, level, remarks, model)
            break
        level = loop.body
        summed = sums_in_blocks(plan, loop, model) if fallback is None else None
        if summed is not None:
            return summed[0], [*remarks, summed[1]]
        if loop.mark:
            break
        too_short = _too_short(plan, loop, model)
        if too_short is not None:
            remarks.append(too_short)
            break
        try:
            marked = independent(plan, loop)
        except UserError as error:
            remarks.append(refusal("parallelize", loop.name, error))
            continue
        numbers = {"iterations": trips(plan.program, loop, sizes)}
        if numbers["iterations"] >= PER_THREAD * cores:
            marked, reason = _shared(plan, marked, loop.name, model)
            done = Remark("applied", "parallelize", loop.name, reason, numbers=numbers)
            return marked, [*remarks, done]
        reason = "too few iterations to share evenly"
        remarks.append(Remark("refused", "parallelize", loop.name, reason, numbers=numbers))
        is_longer = fallback is None or numbers["iterations"] > fallback[0]
        if is_longer and constant_trips(plan.program, loop) != 1:
            fallback = (numbers["iterations"], marked, remarks[-1])
    return _least_bad(plan, fallback, remarks)


def _shared(plan: Plan, marked: Plan, loop: str, model: SearchContext) -> tuple[Plan, str]:
    """The plan whose loop is for threads, with the schedule that suits it, and what to say."""
    reason = "its iterations are independent"
    if not has_one_each(marked.program, find_loop(marked.program, loop), model):
        return marked, reason
    return plan.parallelize(
        loop, schedule="static"
    ), f"{reason}, and each thread has the same in every call"


def _least_bad(
    plan: Plan, fallback: tuple[float, Plan, Remark] | None, remarks: list[Remark]
) -> tuple[Plan, list[Remark]]:
    """The plan with the longest loop that is independent but short, if there is one."""
    if fallback is None:
        return plan, remarks
    _, marked, refused = fallback
    reason = "its iterations are independent: few, but there is no better loop"
    done = replace(refused, kind="applied", reason=reason)
    return marked, [done if remark is refused else remark for remark in remarks]


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
