"""Outer-loop vectorisation: lanes are iterations of a loop around a sequential one.

What an iteration keeps for itself (private scalars: sums, the state of a recurrence) gets an
element per lane. So loops whose own iterations wait for each other have vectors all the same.

rewrite: ``for (x) { s = 0; for (k) s = f(s, x, k); out[x] = s; }`` ->
``for (xs) { for (x in strip) s[x] = 0; for (k) for (x in strip) s[x] = f(s[x], x, k); ... }``

The loop may be around several others, one inside the other: its strip goes into all of them, around
each statement (``nests_in_lanes``).

*Requires* independent iterations of the outer loop, which access elements few apart: lanes in other
rows load one by one, each from a line of its own. Of a nest of several loops such rows are packed
first, a strip's columns side by side.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.ir.block import Block
from polyopt.isl import dim_type
from polyopt.memo import Same
from polyopt.scheduler.finishing.innermost import SHORT
from polyopt.scheduler.finishing.unroll_channels import is_near
from polyopt.scheduler.model.accesses import accesses_of, moves_of
from polyopt.scheduler.model.body import MOST_STRIDE
from polyopt.scheduler.model.instances import constant_trips, trips
from polyopt.scheduler.model.objective import CLEARLY, NOISE, predicted
from polyopt.scheduler.queries import checked, is_free, narrow_locals, widen_locals
from polyopt.transform.schedule.query import find_loop, loop_like, moves_target, path_to
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of, prefix_map

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from polyopt.scheduler.context import SearchContext
    from polyopt.scheduler.model.accesses import AccessFunction
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram

#: vectors that run side by side: the second starts while the first waits for its own (nbody as fast
#: with one, two and four; mandelbrot fastest with two). Of reductions, which wait for each of their
#: operations, as many as are predicted to take least
VECTORS, OF_REDUCTIONS = 2, (2, 4)
#: those of strips in nests, most first: sums of distances take 1.0, 0.7 and 0.45 ms with 1, 2 and 4
OF_NESTS = (4, 2, 1)
#: reads of an element that is packed for lanes at least: fewer cost less one by one (a maximum of
#: each row takes four times as long with packed rows)
LEAST_USES = 4


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
        reason = "the loop inside is sequential: lanes are iterations of the one around it"
        said = weigh.said(plan, changed, rows, reason, share=1 - NOISE, shared=sums)
        remarks.append(said)
        plan = changed if said.kind == "applied" else plan
    return plan, tuple(remarks)


def nests_in_lanes(
    plan: Plan,
    model: SearchContext,
    legal: Callable[[Plan], bool],
    ended: Callable[[Plan, bool], Plan],
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with vectors along loops around nests of sequential ones, where iterations keep all
    that waits for themselves and the plan that ``ended`` makes of it is predicted to take less."""
    remarks: list[Remark] = []
    weigh = _Weigh(model, ended)
    done: set[str] = set()
    for name in list(plan.program.places):
        path = plan.program.places[name].loops
        if len(path) < 2 or path[-1].name in done or not _is_sequential(plan, path[-1]):
            continue
        done.add(path[-1].name)
        if _is_chain(plan, path, model):
            continue
        tried = ((rows, _nest_in_lanes(plan, rows, model)) for rows in reversed(path[:-1]))
        rows, changed = next((found for found in tried if found[1] is not None), (path[0], None))
        if changed is None or not legal(changed):
            continue
        reason = "the loops inside are sequential: lanes are iterations of the one around them"
        said = weigh.said(plan, changed, rows, reason, share=CLEARLY, shared=True)
        remarks.append(said)
        plan = changed if said.kind == "applied" else plan
    return plan, tuple(remarks)


def _nest_in_lanes(plan: Plan, rows: PlanLoop, model: SearchContext) -> Plan | None:
    """The plan with strips of ``rows`` in all loops inside, and what lies in other rows packed;
    ``None`` where what it writes lies there, or loops inside depend on it."""
    program = plan.program
    long, lanes = trips(program, rows, model.sizes), _lanes(plan, rows, model)
    width = next((n * lanes for n in OF_NESTS if long >= 2 * VECTORS * n * lanes), 0)
    if not width or rows.mark or any(loop.mark for loop in loops_of(rows.body)):
        return None
    if any(isinstance(program.copies[name].statement.value, Block) for name in rows.copies):
        return None
    far = _far(program, rows)
    if far is None or not is_free(plan, rows.name):
        return None
    if not far and not _keeps_all(plan, rows):
        return None
    if not all(_is_box(program, name, rows) for name in rows.copies):
        return None
    try:
        plan = plan.split(rows.name, width)
        blocks, strip = path_to(plan.program, rows.name)[-2:]
        plan = _sunk(widen_locals(plan, strip), strip, width)
        plan = narrow_locals(plan, lambda _: True).separate_full_tiles(blocks.name)
        plan = _outwards(plan, blocks, far) if far else plan
        if any(_uses(plan, one, blocks, model) < LEAST_USES for one in far):
            return None
        for one in far:
            plan = plan.pack(one.array, at=blocks.name, read=one.read or None, order=one.order)
    except UserError:
        return None
    return plan


def _keeps_all(plan: Plan, rows: PlanLoop) -> bool:
    """Whether what is updated inside is private to an iteration: rows of arrays that are not have
    vectors of their own."""
    program = plan.program
    inside = {rows.name, *(loop.name for loop in loops_of(rows.body))}
    own = {store.array for store in program.stores if store.at in inside}
    arrays = (program.copies[name].statement for name in rows.copies)
    return all(s.array in own for s in arrays if s.reduction is not None)


def _uses(plan: Plan, far: _Far, blocks: PlanLoop, model: SearchContext) -> float:
    """How often each element that would be packed in an iteration of ``blocks`` is read there."""
    program, least = plan.program, float("inf")
    for name in find_loop(program, blocks.name).copies:
        loops = program.places[name].loops
        at = next(k for k, loop in enumerate(loops) if loop.name == blocks.name) + 1
        moved = moves_of(name, loops)[at:]
        for ref, access in _accesses(program, name):
            if access.array != far.array or far.read not in {"", ref}:
                continue
            still = (
                trips(program, loop, model.sizes)
                for loop, step in zip(loops[at:], moved, strict=True)
                if not any(access.steps(step) or (1,))
            )
            least = min(least, prod(still))
    return least


def _outwards(plan: Plan, blocks: PlanLoop, far: Collection[_Far]) -> Plan:
    """The loop over strips around all loops that hold nothing else and that ``far`` arrays do not
    move with: what is packed for a strip then serves all their iterations. Locals are those of an
    iteration as before."""
    around = path_to(plan.program, blocks.name)[:-1]
    for outer in reversed(around):
        alone = len(find_loop(plan.program, outer.name).body) == 1
        if not alone or any(_moves(plan.program, name, outer, far) for name in outer.copies):
            break
        try:
            plan = checked(plan.reorder(blocks.name, outer.name), blocks.name)
        except UserError:
            break
    return narrow_locals(plan, lambda _: True)


def _moves(program: ScheduledProgram, name: str, loop: PlanLoop, far: Collection[_Far]) -> bool:
    """Whether a copy reads other rows in each iteration of a loop."""
    loops = program.places[name].loops
    moved = moves_of(name, loops)[next(k for k, n in enumerate(loops) if n.name == loop.name)]
    wanted = {(one.array, one.read) for one in far}
    return any(
        any(access.steps(moved) or (1,))
        for ref, access in _accesses(program, name)
        if wanted & {(access.array, ""), (access.array, ref)}
    )


def _accesses(program: ScheduledProgram, name: str) -> Iterator[tuple[str, AccessFunction]]:
    """The accesses of a copy with the references that they are of, writes first."""
    writes, reads = program.touches_in({name})
    refs = (touch.access.ref for touch in (*writes, *reads))
    return zip(refs, accesses_of(program, name), strict=True)


def _is_sequential(plan: Plan, row: PlanLoop) -> bool:
    """Whether a loop has no vectors of its own."""
    if row.mark:
        return False
    try:
        checked(plan.vectorize(row.name), row.name)
    except UserError:
        return True
    return False


@dataclass(frozen=True)
class _Far:
    """Elements of an array that iterations of a loop read in rows far apart."""

    array: str
    #: the reference that reads them; empty where all in the loop do
    read: str
    #: the dimensions as a buffer has them in which they are neighbours
    order: tuple[int, ...]


def _far(program: ScheduledProgram, rows: PlanLoop) -> tuple[_Far, ...] | None:
    """What iterations of a loop read in rows far apart; ``None`` where they write such rows, or
    data decide which."""
    found: dict[str, _Far] = {}
    near: set[str] = set()
    for name in rows.copies:
        loops = program.places[name].loops
        moved = moves_of(name, loops)[loops.index(rows)]
        for ref, access in _accesses(program, name):
            stride = access.stride(moved)
            if stride is not None and abs(stride) <= MOST_STRIDE:
                near |= {access.array}
                continue
            steps = access.steps(moved) or ()
            moving = [k for k, step in enumerate(steps) if step]
            if access.writes or access.buffer or len(moving) != 1:
                return None
            order = (*(k for k in range(len(steps)) if k != moving[0]), moving[0])
            found[ref] = _Far(access.array, ref, order)
    written = {program.copies[name].statement.array for name in rows.copies}
    if written & {far.array for far in found.values()}:
        return None
    orders = Counter(array for array, _ in {(far.array, far.order) for far in found.values()})
    alone = {far.array for far in found.values()} - near
    alike = {
        replace(far, read="") if far.array in alone and orders[far.array] == 1 else far
        for far in found.values()
    }
    return tuple(sorted(alike, key=lambda far: (far.array, far.read)))


def _is_box(program: ScheduledProgram, name: str, rows: PlanLoop) -> bool:
    """Whether loops inside of ``rows`` have the same iterations in each of its own.

    relation: ``{ [.., r, .., k] }`` is what is left without r together with what is without k
    """
    loops = program.places[name].loops
    at = loops.index(rows)
    inside = prefix_map(program.copies[name], loops).range()
    inner = len(loops) - at - 1
    free = inside.eliminate(dim_type.set, at, 1)
    return inside.is_equal(free.intersect(inside.eliminate(dim_type.set, at + 1, inner)))


def _sunk(plan: Plan, strip: PlanLoop, width: int) -> Plan:
    """The strip around each statement, inside all other loops in it, as vectors.

    Raises ``UserError`` where it cannot be.
    """
    children = find_loop(plan.program, strip.name).body
    apart = [
        copies_in(child)[0]
        for before, child in pairwise(children)
        if not (isinstance(before, str) and isinstance(child, str))
    ]
    for name in apart:
        plan = plan.distribute(loop_like(plan.program, name, strip).name, at=name)
    for name in (copies_in(children[0])[0], *apart):
        own = loop_like(plan.program, name, strip)
        inner = own.body[0]
        if isinstance(inner, str):
            plan = checked(plan.vectorize(own.name, width), own.name)
            continue
        plan = plan.reorder(inner.name, own.name)
        plan = _sunk(plan, loop_like(plan.program, name, strip), width)
    return plan


class _Weigh:
    """What plans are predicted to take when they are finished; each is finished once."""

    def __init__(self, model: SearchContext, ended: Callable[[Plan, bool], Plan] | None) -> None:
        self.model, self.ended = model, ended
        self._last: dict[tuple[Same, bool], float] = {}

    def said(
        self, plan: Plan, changed: Plan, rows: PlanLoop, reason: str, *, share: float, shared: bool
    ) -> Remark:
        """Whether lanes are predicted to take that share of the time or less, with why they may."""
        after, before = (self.whole(p, shared=shared) for p in (changed, plan))
        times = {"predicted ns": after, "otherwise": before}
        if after > share * before:
            reason = "lanes take longer than one after the other"
            return Remark("refused", "vectorize", rows.name, reason, numbers=times)
        return Remark("applied", "vectorize", rows.name, reason, numbers=times)

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
    return _is_sequential(plan, row)


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
