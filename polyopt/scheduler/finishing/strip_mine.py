"""Outermost vector loops strip-mined: threads share the strips.

A loop that is both outermost and innermost would run on one core. Strips are of whole cache lines,
as long as the first-level cache holds of one array, or shorter where threads would not get
several.

rewrite: ``for (i) b[i] = f(a[i]);`` -> ``for (is) for (i in strip is) b[i] = f(a[i]);``
"""

from __future__ import annotations

from math import ceil, log2
from typing import TYPE_CHECKING

from polyopt.codegen.flop_count import has_little_work_test
from polyopt.codegen.helpers.nontemporal import LINE
from polyopt.errors import UserError
from polyopt.scheduler.model.instances import instances_of, trips
from polyopt.scheduler.model.objective import (
    is_worth_sharing,
    least_shared,
    predicted,
    shared_time,
)
from polyopt.scheduler.threads.parallelize import PER_THREAD, independent
from polyopt.transform.schedule.query import path_to
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.schedule.tree import PlanLoop, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan


def strip_mined(
    plan: Plan, model: SearchContext, legal: Callable[[Plan], bool]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with strips of outermost vector loops, where threads gain by sharing them."""
    remarks: list[Remark] = []
    if model.target.cores < 2:
        return plan, ()
    lines = [node for node in plan.program.tree if isinstance(node, PlanLoop) and _is_line(node)]
    if not lines:
        return plan, ()
    open_ended = _open_ended(plan, model)
    for root in lines:
        alone = predicted(plan, model, threads=1, nests={root.name})
        shared = shared_time(alone, model)
        if not is_worth_sharing(alone, shared) and root.name not in open_ended:
            reason = "waking threads would take longer than they save"
            numbers = {"predicted ns": alone, "on all threads": shared}
            remarks.append(Remark("refused", "parallelize", root.name, reason, numbers=numbers))
            continue
        width = _width(plan, root, alone, model)
        changed = plan.split(root.name, width)
        strips = path_to(changed.program, root.name)[-2]
        try:
            independent(changed, strips)
        except UserError as error:
            remarks.append(refusal("parallelize", root.name, error))
            continue
        if legal(changed):
            plan = changed
            reason = "threads share strips of it, each of them vectors"
            numbers = {"iterations": float(width)}
            remarks.append(Remark("applied", "split", root.name, reason, numbers=numbers))
    return plan, tuple(remarks)


def _is_line(loop: PlanLoop) -> bool:
    """Whether it is a vector loop around nothing but unrolled ones: others are squares."""
    inner = list(loops_of(loop.body))
    return loop.mark == "vector" and all(node.mark == "unroll" for node in inner)


def _open_ended(plan: Plan, model: SearchContext) -> frozenset[str]:
    """The nests whose work grows with the sizes that nobody gave, and as fast as that of any.

    A call that has work for threads has some there, and each call sees for itself. A line beside
    squares stays short where these are long.
    """
    if not model.open_sizes or not has_little_work_test(plan.scop):
        return frozenset()
    nests = [node for node in plan.program.tree if isinstance(node, PlanLoop)]
    growth = {nest.name: _growth(plan, nest, model) for nest in nests}
    fastest = max(1, *growth.values())
    return frozenset(name for name, power in growth.items() if power == fastest)


def _growth(plan: Plan, loop: PlanLoop, model: SearchContext) -> int:
    """The power of the sizes that nobody gave with which a loop's work grows."""
    twice = {n: v * 2 if n in model.open_sizes else v for n, v in model.sizes.items()}
    copies = [plan.program.copies[name] for name in loop.copies]
    before, after = (sum(instances_of(c, s) for c in copies) for s in (model.sizes, twice))
    return round(log2(after / before)) if before > 0 < after else 0


def _width(plan: Plan, loop: PlanLoop, alone: float, model: SearchContext) -> int:
    """Iterations of a strip: whole lines of each array that the loop writes.

    Where each call decides whether threads start, the shortest loop that they start for is cut
    into several strips for each of them.
    """
    sizes = [plan.program.copies[c].statement.value.type.bytes for c in loop.copies]
    line = LINE // min(sizes)
    most = model.target.l1_bytes // max(sizes)
    longer = max(1.0, least_shared(model) / alone)
    even = longer * trips(plan.program, loop, model.sizes) / (PER_THREAD * model.target.cores)
    return max(1, ceil(min(most, even) / line)) * line
