"""Outer-loop vectorisation: lanes are iterations of a loop around a sequential one.

What an iteration keeps for itself (private scalars: sums, the state of a recurrence) gets an
element per lane. So loops whose own iterations wait for each other have vectors all the same.

rewrite: ``for (x) { s = 0; for (k) s = f(s, x, k); out[x] = s; }`` ->
``for (xs) { for (x in strip) s[x] = 0; for (k) for (x in strip) s[x] = f(s[x], x, k); ... }``

*Requires* independent iterations of the outer loop, which access elements few apart: lanes in other
rows load one by one, each from a line of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.ir.block import Block
from polyopt.memo import Same
from polyopt.scheduler.finishing.innermost import SHORT
from polyopt.scheduler.finishing.unroll_channels import is_near
from polyopt.scheduler.model.instances import constant_trips, trips
from polyopt.scheduler.model.objective import NOISE, predicted
from polyopt.scheduler.queries import checked, widen_locals
from polyopt.transform.schedule.query import find_loop, loop_like, moves_target, path_to
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan

#: vectors that run side by side: the second starts while the first waits for its own (nbody as fast
#: with one, two and four; mandelbrot fastest with two). Of reductions, which wait for each of their
#: operations, as many as are predicted to take least
VECTORS, OF_REDUCTIONS = 2, (2, 4)


def outer_vectors(
    plan: Plan,
    model: SearchContext,
    legal: Callable[[Plan], bool],
    ended: Callable[[Plan, bool], Plan] | None = None,
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with vectors along loops around sequential ones, where that is predicted to pay.

    With ``ended``, which finishes a plan, with threads or without, only where iterations of the
    outer loop keep for themselves all that waits, and the plan that is finished otherwise is
    predicted to take longer.
    """
    remarks: list[Remark] = []
    done: set[str] = set()
    weigh = _Weigh(model, ended)
    for name in list(plan.program.places):
        path = plan.program.places[name].loops
        if len(path) < 2 or path[-1].name in done or not _is_chain(plan, path, model):
            continue
        done.add(path[-1].name)
        rows, row = path[-2:]
        sums = all(plan.program.copies[c].statement.reduction for c in row.copies)
        if ended is not None and not _is_private(plan, rows, row):
            continue
        if ended is not None and sums and _is_short(plan, row):
            continue
        found = [
            changed
            for count in (OF_REDUCTIONS if sums else (VECTORS,))
            if (changed := _in_lanes(plan, rows, row, count, model)) and legal(changed)
        ]
        if not found:
            continue
        changed = _cheapest(found, path[0].copies, model)
        # what is private stays in registers whatever comes after; sums have other ways to threads
        after, before = (weigh.whole(p, shared=sums) for p in (changed, plan))
        times = {"predicted ns": after, "otherwise": before}
        if after > (1 - NOISE) * before:
            reason = "lanes take longer than one after the other"
            remarks.append(Remark("refused", "vectorize", rows.name, reason, numbers=times))
            continue
        plan = changed
        reason = "the loop inside is sequential: lanes are iterations of the one around it"
        remarks.append(Remark("applied", "vectorize", rows.name, reason, numbers=times))
    return plan, tuple(remarks)


class _Weigh:
    """What plans are predicted to take when they are finished; each is finished once."""

    def __init__(self, model: SearchContext, ended: Callable[[Plan, bool], Plan] | None) -> None:
        self.model, self.ended = model, ended
        self._last: dict[tuple[Same, bool], float] = {}

    def whole(self, plan: Plan, *, shared: bool) -> float:
        """Nanoseconds of a call: with threads where work is ``shared``, too."""
        key = Same(plan), shared
        if key not in self._last:
            ns = predicted(plan, self.model)
            if self.ended is not None:
                ns = min(ns, predicted(self.ended(plan, shared), self.model))
            self._last[key] = ns
        return self._last[key]


def _cheapest(plans: Sequence[Plan], copies: Sequence[str], model: SearchContext) -> Plan:
    """The plan whose nest of some copies takes least: strips of fewer vectors unless more pay."""
    if len(plans) == 1:
        return plans[0]
    times = [
        predicted(p, model, 1, {p.program.places[c].loops[0].name for c in copies}) for p in plans
    ]
    best = next(k for k, ns in enumerate(times) if (1 - NOISE) * ns <= min(times))
    return plans[best]


def _is_chain(plan: Plan, path: tuple[PlanLoop, ...], model: SearchContext) -> bool:
    """Whether an innermost loop is sequential, in one with iterations for full vectors."""
    rows, row = path[-2:]
    program = plan.program
    if rows.mark or row.mark or any(loop.mark != "unroll" for loop in loops_of(row.body)):
        return False
    if any(isinstance(program.copies[name].statement.value, Block) for name in rows.copies):
        return False
    if not all(is_near(program, name, rows) for name in row.copies):
        return False
    if trips(program, rows, model.sizes) < 2 * VECTORS * _lanes(plan, row, model):
        return False
    try:
        checked(plan.vectorize(row.name), row.name)
    except UserError:
        return True
    return False


def _is_private(plan: Plan, rows: PlanLoop, row: PlanLoop) -> bool:
    """Whether all that a sequential loop writes is private to the iterations around it, or one
    element of each: both stay in registers."""
    program = plan.program
    stores = {store.array for store in program.stores if store.at in {rows.name, row.name}}
    return all(
        program.copies[name].statement.array in stores
        or (moves_target(program, name, rows) and not moves_target(program, name, row))
        for name in row.copies
    )


def _is_short(plan: Plan, row: PlanLoop) -> bool:
    """Whether a reduction is so short that it is written out inside a vector loop."""
    count = constant_trips(plan.program, row)
    return count is not None and count <= SHORT


def _lanes(plan: Plan, row: PlanLoop, model: SearchContext) -> int:
    copies = plan.program.copies
    widest = max(copies[name].statement.value.type.bytes for name in row.copies)
    return model.target.lanes(widest)


def _in_lanes(
    plan: Plan, rows: PlanLoop, row: PlanLoop, vectors: int, model: SearchContext
) -> Plan | None:
    """The plan with strips of some vectors of ``rows`` in ``row``; ``None`` where the strips cannot
    be whole vectors, or a call has no two of them."""
    width = vectors * _lanes(plan, row, model)
    if trips(plan.program, rows, model.sizes) < 2 * width:
        return None
    try:
        return _stripped(plan, rows, row, width)
    except UserError:
        return None


def _stripped(plan: Plan, rows: PlanLoop, row: PlanLoop, width: int) -> Plan:
    """Strips of ``rows`` in ``row``, as vectors of a width."""
    first = row.copies[0]
    plan = plan.split(rows.name, width)
    blocks, strip = path_to(plan.program, rows.name)[-2:]
    plan = widen_locals(plan, strip)
    inside = [copies_in(child) for child in find_loop(plan.program, strip.name).body]
    at = next(k for k, names in enumerate(inside) if first in names)
    for names in inside[max(at, 1) : at + 2]:
        shared = loop_like(plan.program, names[0], find_loop(plan.program, strip.name))
        plan = plan.distribute(shared.name, at=names[0])
    own, inner = plan.program.places[first].loops[-2:]
    plan = plan.reorder(inner.name, own.name)
    for store in plan.program.stores:
        if store.at == inner.name:
            plan = plan.store(store.array, at=own.name)
    plan = checked(plan.vectorize(own.name, width), own.name)
    for names in inside:
        loop = plan.program.places[names[0]].loops[-1]
        if not loop.mark:
            plan = _vectors(plan, loop, width)
    return plan.separate_full_tiles(blocks.name)


def _vectors(plan: Plan, loop: PlanLoop, width: int) -> Plan:
    try:
        return checked(plan.vectorize(loop.name, width), loop.name)
    except UserError:
        return plan
