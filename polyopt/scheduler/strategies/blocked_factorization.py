"""Blocked factorisations and their like: products that wait for a block of steps.

A step of a factorisation updates all that is left of a matrix, of which the next step needs a row
and a column. What a block of steps does not need itself is updated once, after the block: a
product of matrices, of which ``contractions`` makes register blocks.

    for block of steps:
      for step in block: the block's own rows and columns
      for step in block: for row after: for column after: A[row][column] -= ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.queries import is_legal
from polyopt.scheduler.subscripts import dimension_of, updates
from polyopt.transform.schedule.query import moves_target, path_to
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.transform.plan import Plan

#: steps of a block, and how many blocks there have to be
STEPS, LEAST_BLOCKS = 64, 4


def factors(plan: Plan, sizes: Mapping[str, int]) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with the updates of factorisations in blocks of steps."""
    remarks: list[Remark] = []
    for root in plan.program.tree:
        if not isinstance(root, PlanLoop) or len(root.copies) < 2 or root.mark:
            continue
        waiting = [name for name in root.copies if _may_wait(plan, name, root)]
        if not waiting or trips(plan.program, root, sizes) < STEPS * LEAST_BLOCKS:
            continue
        changed, delayed = _blocked(plan, root, waiting)
        if not delayed:
            continue
        if not is_legal(changed):
            continue
        plan = changed
        reason = "what a block of steps does not need itself is updated after it, as a product"
        numbers = {"steps": float(STEPS)}
        remarks += [
            Remark("applied", "delay_updates", name, reason, numbers=numbers) for name in delayed
        ]
    return plan, tuple(remarks)


def _may_wait(plan: Plan, name: str, root: PlanLoop) -> bool:
    """Whether a copy updates elements of rows and columns in each step."""
    if not updates(plan.program, name) or dimension_of(plan.program, name, root) is None:
        return False
    iterators = plan.program.copies[name].statement.iterators
    return len(iterators) > 2 and not moves_target(plan.program, name, root)


def _blocked(plan: Plan, root: PlanLoop, waiting: list[str]) -> tuple[Plan, list[str]]:
    """The plan with a loop over blocks of steps, and the statements that were delayed."""
    delayed: list[str] = []
    changed = plan.split(root.name, STEPS)
    blocks = path_to(changed.program, root.name)[-2].name
    for name in waiting:
        try:
            changed = changed.delay_updates(name, at=blocks)
        except UserError:
            continue
        delayed.append(name)
    return changed, delayed
