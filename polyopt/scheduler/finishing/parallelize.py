"""Parallel loops: the outermost that carry no dependence and have work for all threads.

Where the order of sums is free, blocks of a loop whose iterations share nothing but sums.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.errors import ParallelCarriedError, UserError
from polyopt.ir.expr import loads
from polyopt.isl import dim_type
from polyopt.scheduler.finishing.parallel_reductions import sums_in_blocks
from polyopt.scheduler.finishing.static_schedule import has_one_each
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.model.op_cost import LOAD, work
from polyopt.scheduler.queries import checked, constant_trips
from polyopt.scheduler.subscripts import step
from polyopt.transform.legality.parallel import shared_sums
from polyopt.transform.schedule.query import find_loop, path_to
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.schedule.tree import PlanLoop, prefix_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Statement
    from polyopt.isl import PwAff
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import Tree

#: iterations per thread that keep the shares even
PER_THREAD = 4
#: operations per thread, vectors counted once, that take longer than starting and awaiting it, and
#: than fetching what it wrote from its cache
LEAST_SHARE = 80_000.0
#: bytes of a vector
VECTOR = 64


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
        share = _share(plan.program, loop, sizes)
        if share < LEAST_SHARE * cores:
            reason = "threads would wait for each other longer than they work"
            numbers = {"operations": share}
            remarks.append(Remark("refused", "parallelize", loop.name, reason, numbers=numbers))
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


def _share(program: ScheduledProgram, loop: PlanLoop, sizes: Mapping[str, int]) -> float:
    """The operations of all iterations of a loop inside others, each time that it is entered.

    Infinite for the outermost loop of a nest, which is entered once.
    """
    return operations(program, loop, sizes) if len(path_to(program, loop.name)) > 1 else inf


def operations(program: ScheduledProgram, loop: PlanLoop, sizes: Mapping[str, int]) -> float:
    """The operations of all iterations of a loop, each time that it is entered; vectors are one."""
    total = 0.0
    level = len(path_to(program, loop.name)) - 1
    for name in loop.copies:
        copy, path = program.copies[name], program.places[name].loops
        entries = about(prefix_map(copy, path[:level]).range(), sizes)
        each = max(1.0, work(copy.statement.value))
        vector = next((around for around in path if around.mark == "vector"), None)
        if vector is not None:
            each /= VECTOR // copy.statement.value.type.bytes
            each += LOAD * _strided(copy.statement, vector.values[name])
        total += about(copy.domain, sizes) * each / max(1, entries)
    return total


def _strided(statement: Statement, lane: PwAff) -> int:
    """How many operands a vector collects element by element: neighbours of a loop that lie apart
    in memory."""
    moving = [k for k in range(len(statement.iterators)) if lane.involves_dims(dim_type.in_, k, 1)]
    places = [load.index for load in loads(statement.value)]
    return sum(
        any(step(i, k) != 0 for i in index[:-1] for k in moving)
        or any(step(index[-1], k) not in {-1, 0, 1} for k in moving)
        for index in places
        if index
    )
