"""Budgets of the search: a step that takes too long leaves the plan as it was, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import NotDecidedError
from polyopt.isl import stretches
from polyopt.scheduler.context import STEP_BUDGET
from polyopt.transform.schedule.remark import refusal

if TYPE_CHECKING:
    from polyopt.scheduler.context import Step
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.remark import Remark

#: isl operations of a whole search, moves and proofs included: two minutes, six times what the
#: largest kernel of the library takes
SEARCH_BUDGET = 150_000_000


def take(step: Step, plan: Plan) -> tuple[Plan, tuple[Remark, ...]]:
    """A step of the search; where its budget is spent, the plan as it is, and a remark."""
    try:
        with stretches(STEP_BUDGET, "a step of the search"):
            return step(plan)
    except NotDecidedError as error:
        return plan, (refusal("auto", "all", error),)
