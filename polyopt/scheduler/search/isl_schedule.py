"""The order of isl's scheduler beside the source's: whichever leaves less to do one by one.

Where some statement's loops are neither vectors nor shared by threads in the source's order, isl
is asked for other orders, each is finished like the source's, and the cheapest plan is taken: its
serial work, which is operations over the lanes and cores that run them at once, and the bytes of
intermediate arrays that it moves, none where their producers are fused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.arguments import checks_arguments
from polyopt.errors import NotDecidedError, UserError
from polyopt.ir.expr import Affine, loads
from polyopt.isl import dim_type
from polyopt.scheduler.model.cache import array_bytes, large_buffers
from polyopt.scheduler.model.op_cost import work
from polyopt.scheduler.queries import is_free, is_legal, is_proven
from polyopt.scheduler.search.finish import finishing
from polyopt.scheduler.search.limits import take
from polyopt.scheduler.strategies.blocked_factorization import factors
from polyopt.scheduler.strategies.matmul import contractions
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.query import iterators_of, moves_target
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of, same_tree

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from polyopt.ir.scop import Scop
    from polyopt.isl import OperationLimit
    from polyopt.scheduler.context import SearchContext, Step
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import ScheduledStatement, SchedulePosition, Tree

#: programs of more statements are pipelines, and stay as they are
MOST_STATEMENTS = 16
#: heuristics that are tried
TRIED = ("smart", "min")
#: another order has to cost this share, or less
LEAST_GAIN = 0.7
#: a plan is shared by threads, or in lanes, where so little of its work is not
MOST_ALONE = 1 / 8
#: lanes that a vector loop over rows of an array is worth: its loads come one by one
GATHERED = 1.5
#: a cache line for each element takes so many times as long as one for each eight
FAR = 4.0
#: serial operations that take as long as a byte from or to memory
PER_BYTE = 0.1
#: chains of additions that run side by side are worth so many lanes: they wait for memory together
SIDE_BY_SIDE = 3.0
#: sums in registers take as much less time than those in memory
IN_REGISTERS = 4.0


@dataclass(frozen=True)
class Score:
    """A plan's score: serial work, bytes of intermediate arrays that go from and to memory, and the
    shares of its operations without lanes or without threads, and without threads."""

    serial: float
    moved: float
    alone: float
    unshared: float

    @property
    def cost(self) -> float:
        """Both in serial operations."""
        return self.serial + PER_BYTE * self.moved

    def fills_memory(self, own: Score) -> bool:
        """Whether it moves more bytes than a plan ``own`` whose work threads share: they compute
        sooner than memory gives what others left there."""
        return self.moved > own.moved and own.unshared < MOST_ALONE


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
    scop = plan.scop
    if len(scop.statements) > MOST_STATEMENTS:
        return plan
    own = weigh(plan, model)
    if own.alone < MOST_ALONE:
        return plan
    best, least, remarks = plan, own.cost * LEAST_GAIN, list[Remark]()
    orders: list[tuple[Tree, Plan, Score]] = []
    for fusion in TRIED:
        try:
            order = start.reschedule(fusion=fusion)
            tree = order.program.tree
            known = next((found for found in orders if same_tree(found[0], tree)), None)
            # what one order becomes, another heuristic's same order becomes too
            made = _finished(order, model) if known is None else known[1]
        except UserError as error:
            remarks.append(refusal("reschedule", fusion, error))
            continue
        weight = weigh(made, model) if known is None else known[2]
        orders.append((tree, made, weight))
        numbers = {"serial operations": weight.serial, "in the source's order": own.serial}
        if weight.moved != own.moved:
            numbers |= {"stored bytes": weight.moved, "stored in the source's order": own.moved}
        if weight.fills_memory(own):
            reason = "isl's order would fill memory with what the source's order does not store"
            remarks.append(Remark("refused", "reschedule", fusion, reason, numbers=numbers))
        elif weight.cost < least and is_proven(made):
            best, least = made, weight.cost
            reason = "isl's order leaves less to do one by one"
            remarks.append(Remark("applied", "reschedule", fusion, reason, numbers=numbers))
        else:
            reason = "isl's order would be no faster than the source's, which is kept"
            remarks.append(Remark("refused", "reschedule", fusion, reason, numbers=numbers))
    return replace(best, remarks=(*remarks, *best.remarks))


def _finished(plan: Plan, model: SearchContext, *, tile: bool = True) -> Plan:
    """The plan with blocks, vectors and threads, as the source's order gets them."""
    remarks: tuple[Remark, ...] = ()
    blocks: list[Step] = [lambda p: contractions(p, model.target, model.sizes)]
    if tile:
        plan, remarks = take(lambda p: factors(p, model.sizes), plan)
    plan, _ = take(lambda p: (_apart(p), ()), plan)
    for step in (*(blocks if tile else ()), *finishing(model, is_legal)):
        plan, said = take(step, plan)
        remarks += said
    return replace(plan, remarks=remarks)


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


def weigh(plan: Plan, model: SearchContext) -> Score:
    """The score of a plan: what it does one by one, and moves, at the context's sizes."""
    program, target = plan.program, model.target
    total = serial = alone = unshared = 0.0
    arrays = program.scop.arrays
    far = {a.name for a in arrays if array_bytes(a, model.sizes) > target.l2_bytes}
    for name, place in program.places.items():
        copy = program.copies[name]
        each = about(copy.domain, model.sizes) * max(1.0, work(copy.statement.value))
        lanes: float = 1.0
        if _marked(place, "vector"):
            lanes = target.lanes(copy.statement.value.type.bytes)
            lanes = min(lanes, GATHERED) if _gathers(copy, place.loops[-1]) else lanes
        cores = target.cores if _marked(place, "parallel") else 1
        total += each
        unshared += each if cores < target.cores else 0.0
        alone += each if lanes == 1 or cores < target.cores else 0.0
        wide = SIDE_BY_SIDE if is_side_by_side(program, name, place) else lanes
        near = IN_REGISTERS if _marked(place, "register_tile") else 1.0
        near = near / FAR if _goes_far(copy, place, far) else near
        serial += each / (wide * cores * near)
    total = max(1.0, total)
    return Score(serial, _moved(program, model, far), alone / total, unshared / total)


def _moved(program: ScheduledProgram, model: SearchContext, large: Collection[str]) -> float:
    """Bytes of large intermediate arrays and buffers that are written and read back."""
    arrays = {a.name: a for a in program.scop.arrays if a.role == "temp" and a.name in large}
    touches = (*program.writes, *program.reads)
    stored = {t.access.array for t in touches if t.scratch is None} & arrays.keys()
    moved = sum(array_bytes(arrays[name], model.sizes) for name in stored)
    kept = {s.name for s in large_buffers(program, model)}
    for touch in program.writes:
        if touch.scratch is not None and touch.scratch.name in kept:
            copy = program.copies[touch.host]
            moved += about(copy.domain, model.sizes) * copy.statement.value.type.bytes
    return 2.0 * moved


def is_side_by_side(program: ScheduledProgram, name: str, place: SchedulePosition) -> bool:
    """Whether several sums, each a chain along a loop, are done in turn inside of it."""
    if len(place.loops) < 2 or place.loops[-1].mark != "unroll":
        return False
    chain, rows = place.loops[-2:]
    return moves_target(program, name, rows) and not moves_target(program, name, chain)


def _goes_far(copy: ScheduledStatement, place: SchedulePosition, large: Collection[str]) -> bool:
    """Whether the innermost loop walks over rows of a large array itself."""
    if not place.loops or _marked(place, "register_tile") or copy.fills:
        return False
    return _gathers(copy, place.loops[-1], large)


def _gathers(
    copy: ScheduledStatement, loop: PlanLoop, among: Collection[str] | None = None
) -> bool:
    """Whether a loop walks over rows of what a copy reads or writes; of some arrays, or of all."""
    dims = iterators_of(copy, loop)
    statement = copy.statement
    accessed = [(statement.array, statement.index)]
    accessed += [(load.array, load.index) for load in loads(statement.value)]
    indices = [index for array, index in accessed if among is None or array in among]
    return any(
        not isinstance(x, Affine) or any(x.form.involves_dims(dim_type.in_, d, 1) for d in dims)
        for index in indices
        for x in index[:-1]
    )


def _marked(place: SchedulePosition, mark: str) -> bool:
    return any(loop.mark == mark for loop in place.loops)
