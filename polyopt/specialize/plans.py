"""Automatic plans that are kept on disk, beside the kernels: the search is done once."""

from __future__ import annotations

import logging
import pickle
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.scheduler import auto
from polyopt.scheduler.plan_cache import PlanCache
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Scop

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
    plan = auto(scop, sizes=sizes, target=target, reassociate=reassociate)
    if cache:
        cache.put(choices, pickle.dumps(plan))
    return plan


def _arrived(plan: object, scop: Scop) -> Plan | None:
    """A stored plan, if it is one, of this program, and still legal."""
    if not isinstance(plan, Plan) or str(plan.scop) != str(scop):
        return None
    try:
        plan.prove()
    except UserError as error:
        _log.info("the plan of %s is made anew: %s", scop.name, error)
        return None
    return plan
