"""Automatic plans that are kept on disk, beside the kernels: the search is done once."""

from __future__ import annotations

import logging
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.scheduler.plan_cache import PlanCache
from polyopt.scheduler.search.automatic import continued
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.source.dead_stores import without_dead_stores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Scop

#: the move that comes first
_MOVE = "eliminate_dead_stores"
_log = logging.getLogger("polyopt")


def planned(scop: Scop, sizes: Mapping[str, int], target: str, *, reassociate: bool) -> Plan:
    """The automatic plan of a program, from disk where it was found before.

    A plan from disk is proven anew. Raises what ``auto`` raises.
    """
    cache = PlanCache.of(target)
    values = tuple(repr(statement.value) for statement in scop.statements)
    choices = str(scop), str(scop.context), values, dict(sizes), reassociate
    found = _arrived(cache.get(choices), scop) if cache else None
    if found is not None:
        return found
    start = dead_stores_eliminated(scop)
    plan = continued(start, sizes=sizes, target=target, reassociate=reassociate)
    if cache:
        cache.put(choices, pickle.dumps(plan))
    return plan


def dead_stores_eliminated(scop: Scop) -> Plan:
    """The plan of a program whose first move, where there is any use in it, leaves out stores that
    array expressions make and nothing needs: zeros that are overwritten, borders copied back."""
    plan = Plan(scop)
    if without_dead_stores(scop) is scop:
        return plan
    try:
        made = plan.eliminate_dead_stores()
    except UserError as error:
        return replace(plan, remarks=(refusal(_MOVE, scop.name, error),))
    left = {s.name: s for s in made.scop.statements}
    names = [s.name for s in scop.statements if left.get(s.name) is not s]
    reason = "no read and no result sees what these write, in whole or in part"
    return replace(made, remarks=(Remark("applied", _MOVE, ", ".join(names), reason),))


def _arrived(plan: object, scop: Scop) -> Plan | None:
    """A stored plan, if it is one, of this program, and still legal."""
    if not isinstance(plan, Plan) or str(plan.source) != str(scop):
        return None
    try:
        plan.prove()
    except UserError as error:
        _log.info("the plan of %s is made anew: %s", scop.name, error)
        return None
    return plan
