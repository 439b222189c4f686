"""Permutation for temporal reuse: loops that pass over an array again and again go inside.

Channels of a picture that are all weighted by one of them are such loops. Outermost, each channel
loads the weights from memory; inside of the rows it finds them in a cache.

rewrite: ``for (c) for (y) for (x) out[c][y][x] = img[c][y][x] * weight[y][x];`` ->
``for (y) for (c) for (x) ...`` where ``weight`` is more than the caches hold.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.scheduler.model.cache import Traffic
from polyopt.scheduler.model.objective import NOISE
from polyopt.scheduler.queries import is_free
from polyopt.transform.schedule.query import find_loop
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.schedule.tree import PlanLoop, copies_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan


def passed_once(
    plan: Plan, model: SearchContext, legal: Callable[[Plan], bool]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with outermost loops further inside where less comes from memory so."""
    remarks: list[Remark] = []
    traffic, cache = Traffic(plan.program, model.sizes), model.target.last_bytes
    roots = [loop for loop in plan.program.tree if isinstance(loop, PlanLoop)]
    for name in [root.name for root in roots if _again(traffic, root, cache)]:
        while (inner := _next(plan, name)) is not None:
            plan, said = _tried(plan, name, inner.name, model, legal)
            remarks.append(said)
            if said.kind != "applied":
                break
    return plan, tuple(remarks)


def _tried(
    plan: Plan, name: str, inner: str, model: SearchContext, legal: Callable[[Plan], bool]
) -> tuple[Plan, Remark]:
    """The plan with a loop inside of the next one, or as it was, and why."""
    try:
        changed = plan.reorder(inner, name)
    except UserError as error:
        return plan, refusal("reorder", name, error)
    before, after = (_bytes(p, model) for p in (plan, changed))
    remark = Remark("refused", "reorder", name, "", inner, {"bytes": before, "bytes so": after})
    if after > (1 - NOISE) * before:
        return plan, replace(remark, reason="no less would come from memory")
    if not is_free(plan, inner):
        return plan, replace(remark, reason=f"the iterations of {inner} are not for threads")
    if not legal(changed):
        return plan, replace(remark, reason="the order changes what is computed")
    reason = f"inside of {inner}, what it passes over again is in the caches"
    return changed, replace(remark, kind="applied", reason=reason)


def _again(traffic: Traffic, root: PlanLoop, cache: int) -> bool:
    """Whether iterations of a nest's outermost loop pass over more than a cache holds."""
    inside = set(copies_in(root))
    return any(
        use.in_full and root.name not in use.along and traffic.bytes_of[use.array] > cache
        for use in traffic.uses
        if use.host in inside
    )


def _bytes(plan: Plan, model: SearchContext) -> int:
    """Bytes that come from memory or go there."""
    return sum(Traffic(plan.program, model.sizes).through(model.target.last_bytes).values())


def _next(plan: Plan, name: str) -> PlanLoop | None:
    """The one loop in a loop, itself around others: the innermost one stays where it is."""
    loop = find_loop(plan.program, name)
    inner = loop.body[0]
    if len(loop.body) > 1 or not isinstance(inner, PlanLoop) or loop.mark or inner.mark:
        return None
    return inner if any(isinstance(child, PlanLoop) for child in inner.body) else None
