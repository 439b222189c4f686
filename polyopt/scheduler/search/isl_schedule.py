"""The order of isl's scheduler beside the source's: whichever leaves less to do one by one.

Where some statement's loops are neither vectors nor shared by threads in the source's order, isl
is asked for other orders, each is finished like the source's, and taken where the time model
predicts clearly less.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.arguments import checks_arguments
from polyopt.errors import NotDecidedError, UserError
from polyopt.scheduler.context import MOST_STATEMENTS
from polyopt.scheduler.model.objective import CLEARLY, least_shared, predicted
from polyopt.scheduler.model.op_cost import Weights
from polyopt.scheduler.queries import has_register_tiles, is_free, is_legal, is_proven
from polyopt.scheduler.search.finish import finishing
from polyopt.scheduler.search.limits import take
from polyopt.scheduler.strategies.blocked_factorization import factors
from polyopt.scheduler.strategies.contractions.matmul import contractions
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.query import moves_target
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of, same_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.ir.scop import Scop
    from polyopt.isl import OperationLimit
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import SchedulePosition, Tree

#: heuristics that are tried
TRIED = ("smart", "min")
#: a plan is shared by threads, or in lanes, where so little of its time is not
MOST_ALONE = 1 / 8


@checks_arguments
def affine(scop: Scop, *, fusion: str = "smart") -> Plan:
    """The plan that isl's scheduler makes of a program, proven; no tiles, no marks.

    ``fusion`` is ``min``, ``smart``, ``hybrid`` or ``max``: see ``Plan.reschedule``. Raises
    ``InvalidOptionError`` for others, ``NotDecidedError`` where isl's budget is spent.
    """
    return Plan(scop).reschedule(fusion=fusion)


def scheduled(
    start: Plan, fusion: str, model: SearchContext, allowed: OperationLimit, *, tile: bool
) -> Plan:
    """The plan in isl's order by one heuristic, with blocks, vectors and threads.

    ``start`` is the plan without moves. Where isl finds no order within its budget, or one that is
    not proven, it is the source's order that gets them. Raises ``InvalidOptionError`` for an
    unknown heuristic.
    """
    try:
        with allowed:
            plan = _finished(start.reschedule(fusion=fusion), model, tile=tile)
        plan.prove()
    except NotDecidedError as error:
        with allowed:
            plan = _finished(start, model, tile=tile)
        asked = refusal("reschedule", fusion, error)
    else:
        asked = Remark("applied", "reschedule", fusion, "isl's order, as it was asked for")
    return replace(plan, remarks=(asked, *plan.remarks))


def reordered(plan: Plan, start: Plan, model: SearchContext) -> Plan:
    """The plan, or a better one in another order of isl's; its remarks say why.

    ``start`` is the plan without moves.
    """
    if len(plan.scop.statements) > MOST_STATEMENTS:
        return plan
    if alone_share(plan, model) < MOST_ALONE:
        return plan
    own = predicted(plan, model)
    best, least, remarks = plan, own * CLEARLY, list[Remark]()
    orders: list[tuple[Tree, Plan, float]] = []
    blocks_only = model.blocks_only and not has_register_tiles(plan)
    for fusion in TRIED:
        try:
            order = start.reschedule(fusion=fusion)
            tree = order.program.tree
            known = next((found for found in orders if same_tree(found[0], tree)), None)
            # what one order becomes, another heuristic's same order becomes too
            if known is None and blocks_only and not has_register_tiles(_blocked(order, model)[0]):
                continue
            made = _finished(order, model) if known is None else known[1]
        except UserError as error:
            remarks.append(refusal("reschedule", fusion, error))
            continue
        model.tried.setdefault(f"isl's order, {fusion}", made)
        taken = predicted(made, model) if known is None else known[2]
        orders.append((tree, made, taken))
        numbers = {"predicted ns": taken, "in the source's order": own}
        if taken < least and is_proven(made):
            best, least = made, taken
            kind, reason = "applied", "isl's order is predicted to take less time"
        else:
            kind, reason = "refused", "isl's order would be no faster than the source's"
        remarks.append(Remark(kind, "reschedule", fusion, reason, numbers=numbers))
    return replace(best, remarks=(*remarks, *best.remarks))


def alone_share(plan: Plan, model: SearchContext) -> float:
    """The share of a plan's operations that is neither in lanes nor shared by threads."""
    program, weights = plan.program, Weights.of(model.target, plan.scop)
    costs = weights.costs
    ns = costs.scalar / costs.clock
    least = least_shared(model) / ns if model.target.cores > 1 else math.inf
    total = alone = 0.0
    for name, place in program.places.items():
        copy = program.copies[name]
        each = about(copy.domain, model.sizes) * max(1.0, weights.evaluation(copy.statement.value))
        marks = {loop.mark for loop in place.loops}
        total += each
        # threads that would wait longer than they work are not missed
        missed = "parallel" not in marks and each >= least
        alone += each if "vector" not in marks or missed else 0.0
    return alone / max(1.0, total)


def _finished(plan: Plan, model: SearchContext, *, tile: bool = True) -> Plan:
    """The plan with blocks, vectors and threads, as the source's order gets them."""
    plan, remarks = _blocked(plan, model, tile=tile)
    for step in finishing(model, is_legal):
        plan, said = take(step, plan)
        remarks += said
    return replace(plan, remarks=remarks)


def _blocked(
    plan: Plan, model: SearchContext, *, tile: bool = True
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with blocks, the only ones that keep sums in registers."""
    if not tile:
        return take(lambda p: (_apart(p), ()), plan)[0], ()
    plan, remarks = take(lambda p: factors(p, model.sizes), plan)
    plan, _ = take(lambda p: (_apart(p), ()), plan)
    plan, said = take(lambda p: contractions(p, model.target, model.sizes), plan)
    return plan, (*remarks, *said)


def _apart(plan: Plan) -> Plan:
    """The plan with a loop for each statement of an innermost loop, and with loops that threads
    can share in place of one that they cannot, where that is legal."""
    for loop in list(loops_of(plan.program.tree)):
        if not any(isinstance(child, PlanLoop) for child in loop.body):
            plan = _distributed(plan, loop, loop.copies[1:])
    for loop in reversed(list(loops_of(plan.program.tree))):
        parts = [copies_in(child)[0] for child in loop.body[1:]]
        if (
            parts
            and all(isinstance(c, PlanLoop) for c in loop.body)
            and not is_free(plan, loop.name)
        ):
            apart = _distributed(plan, loop, parts)
            heads = [_loop_of(apart, head, loop) for head in (loop.copies[0], *parts)]
            if any(is_free(apart, head.name) for head in heads):
                plan = apart
    return plan


def _distributed(plan: Plan, loop: PlanLoop, parts: Sequence[str]) -> Plan:
    """The plan with a loop of its own for each part, where that is legal."""
    for name in parts:
        try:
            apart = plan.distribute(_loop_of(plan, name, loop).name, at=name)
        except UserError:
            continue
        plan = apart if is_legal(apart) else plan
    return plan


def _loop_of(plan: Plan, name: str, loop: PlanLoop) -> PlanLoop:
    """The loop around a copy that is what is left of another one, or a part of it."""
    value = loop.values[name]
    return next(n for n in plan.program.places[name].loops if n.values[name] is value)


def is_side_by_side(program: ScheduledProgram, name: str, place: SchedulePosition) -> bool:
    """Whether several sums, each a chain along a loop, are done in turn inside of it."""
    if len(place.loops) < 2 or place.loops[-1].mark != "unroll":
        return False
    chain, rows = place.loops[-2:]
    return moves_target(program, name, rows) and not moves_target(program, name, chain)
