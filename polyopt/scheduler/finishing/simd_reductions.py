"""SIMD reductions: sums along rows in vector loops, where their order is free: those of integers,
and all if the user lets them be.

rewrite: ``for (i) for (j) y[i] += A[i][j] * x[j];`` -> the loop over ``j`` is a vector loop, whose
lanes have a sum each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.ir.expr import Affine, loads
from polyopt.isl import dim_type
from polyopt.scheduler.queries import checked, free_reductions
from polyopt.transform.annotations.reassociate import accumulation, sums_in
from polyopt.transform.schedule.query import find_loop, iterators_of
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop, copies_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram


def sums_in_lanes(
    plan: Plan, model: SearchContext, legal: Callable[[Plan], bool]
) -> tuple[Plan, tuple[Remark, ...]]:
    """SIMD reductions: the plan with vector loops along reduced rows, if the model lets it.

    ``legal`` says whether a plan is proven.
    """
    remarks: list[Remark] = []
    for name in list(plan.program.places):
        path = plan.program.places[name].loops
        if not path or path[-1].mark or not _is_row(plan.program, path[-1]):
            continue
        statements = [plan.program.copies[c].statement for c in copies_in(path[-1])]
        names = free_reductions(statements, model)
        if not names:
            continue
        try:
            free = plan.reassociate(*names).vectorize(path[-1].name).program
            along = sums_in(free, find_loop(free, path[-1].name))
            names = sorted({free.copies[c].statement.name for c in along})
            changed = plan.reassociate(*names).vectorize(path[-1].name)
            checked(changed, path[-1].name)
        except UserError:
            continue
        if legal(changed):
            plan = changed
            reason = f"lanes add up {', '.join(names)} apart, as the order of sums is free"
            remarks.append(Remark("applied", "reassociate", path[-1].name, reason))
    return plan, tuple(remarks)


def _is_row(program: ScheduledProgram, loop: PlanLoop) -> bool:
    """Whether an innermost loop walks along rows of all that it reads and writes, or stays."""
    if any(isinstance(child, PlanLoop) for child in loop.body):
        return False
    if not any(accumulation(program.copies[n].statement) for n in copies_in(loop)):
        return False
    for name in copies_in(loop):
        copy = program.copies[name]
        statement = copy.statement
        dims = iterators_of(copy, loop)
        touched = [statement.index, *(load.index for load in loads(statement.value))]
        for index in touched:
            if not all(isinstance(part, Affine) for part in index):
                return False
            if any(
                isinstance(part, Affine) and part.form.involves_dims(dim_type.in_, level, 1)
                for part in index[:-1]
                for level in dims
            ):
                return False
    return True
