"""Index-set splitting at values that all dependences of a loop cross: each part is for threads.

``A[i] = A[N - 1 - i]`` reads, in the second half of the loop, what the first has written; within
each half iterations are independent. (M. Griebl, P. Feautrier and C. Lengauer, "Index set
splitting", 2000, split where dependences begin to hold; so does U. Bondhugula et al., "Tiling and
optimizing time-iterated computations on periodic domains", 2014, at the middle of a ring.)

relation: of ``{ [v] -> [v'] }``, the values of a loop whose iterations clash, a value ``w`` of the
sizes separates those with ``v < w <= v'``. Candidates are where a piece of it has its last source
or its first sink; as few are taken as separate everything.
"""

from __future__ import annotations

from itertools import combinations, permutations
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.ir.block import Block
from polyopt.isl import (
    PwAff,
    budget,
    value_text,
)
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.model.objective import is_worth_sharing, predicted_sharing
from polyopt.scheduler.queries import is_free
from polyopt.transform.legality.parallel import carried
from polyopt.transform.legality.split_points import split_points, unseparated
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.tree import Tree

#: values that a loop is split at
MOST_POINTS = 3
#: isl operations for one loop
_BUDGET = 1_000_000


def splits(
    plan: Plan, model: SearchContext, legal: Callable[[Plan], bool]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with loops in parts whose iterations are independent, where they were not."""
    remarks: list[Remark] = []
    for loop in list(_outermost(plan, plan.program.tree, model)):
        found = _points(plan, loop)
        if found is None:
            continue
        points, separated = found
        made = _split(plan, loop.name, points)
        if separated and made is not None and legal(made):
            numbers = {
                "parts": len(points) + 1.0,
                "iterations": trips(plan.program, loop, model.sizes),
            }
            plan = made
            where = " and ".join(map(value_text, points))
            reason = f"before and from {where} on its iterations are independent"
            remarks.append(Remark("applied", "split_range", loop.name, reason, numbers=numbers))
        elif points:
            where = " and ".join(map(value_text, points))
            reason = f"at {where} it would leave iterations that depend on each other"
            remarks.append(Remark("refused", "split_range", loop.name, reason))
    return plan, tuple(remarks)


def _outermost(plan: Plan, nodes: Tree, model: SearchContext) -> Iterator[PlanLoop]:
    """The loops outside of any that threads may share, which are worth it."""
    for node in nodes:
        if not isinstance(node, PlanLoop) or node.mark or is_free(plan, node.name):
            continue
        names = copies_in(node)
        blocks = any(isinstance(plan.program.copies[n].statement.value, Block) for n in names)
        if blocks:
            continue
        if is_worth_sharing(*predicted_sharing(plan, model, node.name)):
            yield node
        yield from _outermost(plan, node.body, model)


def _points(plan: Plan, loop: PlanLoop) -> tuple[tuple[PwAff, ...], bool] | None:
    """The values that separate most clashes of a loop, and whether these are all; ``None`` where
    there are no such values."""
    context = plan.scop.context
    try:
        with budget(_BUDGET, f"where {loop.name} may be split"):
            pairs = carried(plan.program, loop)
            if pairs is None:
                return None
            pairs = pairs.intersect_params(context).coalesce()
            useful = split_points(pairs, context)
            for count in range(1, MOST_POINTS + 1):
                for points in combinations(useful, count):
                    if unseparated(pairs, points).is_empty():
                        return points, True
            return (tuple(useful[:1]), False) if useful else None
    except UserError:
        return None


def _split(plan: Plan, loop: str, points: Sequence[PwAff]) -> Plan | None:
    """The plan with a loop split at values, in the order in which they lie, free in each part."""
    for order in permutations(map(value_text, points)):
        try:
            made = plan
            for point in order:
                made = made.split_range(loop, at=point)
        except UserError:
            continue
        known = {n.name for n in loops_of(plan.program.tree)}
        parts = [n.name for n in _siblings(made, loop) if n.name not in known or n.name == loop]
        if all(is_free(made, part) for part in parts):
            return made
    return None


def _siblings(plan: Plan, loop: str) -> list[PlanLoop]:
    """The loops that stand beside one, with it."""

    def among(nodes: Tree) -> list[PlanLoop]:
        here = [n for n in nodes if isinstance(n, PlanLoop)]
        if any(n.name == loop for n in here):
            return here
        return [found for n in here for found in among(n.body)]

    return among(plan.program.tree)
