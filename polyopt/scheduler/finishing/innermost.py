"""Inner loops: bring the contiguous loop innermost, unroll short reductions, mark vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.codegen.schedule.boundaries import everywhere, interior
from polyopt.codegen.schedule.modulo import period
from polyopt.errors import UserError
from polyopt.ir.block import Block
from polyopt.isl import PwMultiAff, dim_type
from polyopt.scheduler.finishing.unroll_channels import jam_channels, pixels_of
from polyopt.scheduler.model.cache import large_buffers
from polyopt.scheduler.model.instances import (
    computed_bytes,
    constant_trips,
    instances_of,
    trips,
)
from polyopt.scheduler.model.objective import predicted
from polyopt.scheduler.queries import (
    checked,
    contiguous_loop,
    last_iterator,
    widen_locals,
)
from polyopt.transform.schedule.query import find_loop, loop_like, moves_target, path_to
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledAccess, ScheduledProgram
    from polyopt.transform.schedule.tree import Tree

#: reductions of at most this many iterations in all are unrolled inside the vector loop
SHORT = 32
#: iterations of a long reduction done per pass over a row
JAM = 8
#: bytes of the shortest vectors of all targets
SHORTEST = 16
#: remainders of at most so many iterations get statements of their own
LONGEST_PERIOD = 4


def arrange(
    plan: Plan, model: SearchContext, legal: Callable[[Plan], bool]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with a vector loop innermost in every nest where one is legal.

    ``legal`` says whether an order keeps the flow; a step that does not is taken back, and so is
    one that expands locals of an iteration beyond the caches.
    """
    remarks: list[Remark] = []
    for name in list(plan.program.places):
        loop = contiguous_loop(plan.program, name)
        if loop is None:
            remarks.append(_nothing(plan.program, name))
            continue
        path = plan.program.places[name].loops
        if loop.mark == "vector" or any(node.width for node in path[path.index(loop) :]):
            continue
        pixels = pixels_of(plan.program, name, loop, model.target)
        if pixels is not None:
            plan, said, done = _along_pixels(plan, pixels, legal)
            remarks += said
            if done:
                continue
        changed = _bring_in(plan, loop)
        if changed is not plan and not _pays(plan, changed, name, loop, model):
            changed = plan
        jammed = jam_channels(plan, name, loop)
        if jammed is not plan:
            changed = _bring_in(jammed, find_loop(jammed.program, loop.name))
        if changed is not plan and not _expands(plan, changed, model) and legal(changed):
            plan = changed
        jammed = _jam_reductions(plan, name)
        if jammed is not plan and legal(jammed):
            plan, said = _better_marked(plan, jammed, name, model)
        else:
            plan, said = _mark(plan, name, model)
        remarks += said
    return plan, tuple(remarks)


def _along_pixels(
    plan: Plan, pixels: PlanLoop, legal: Callable[[Plan], bool]
) -> tuple[Plan, list[Remark], bool]:
    """Vectors along pixels with interleaved channels, and whether they are."""
    try:
        changed = _unrolled(plan, pixels, list(loops_of(pixels.body)))
        if not legal(changed):
            return plan, [], False
        changed = checked(changed.vectorize(pixels.name), pixels.name)
    except UserError as error:
        return plan, [refusal("vectorize", pixels.name, error)], False
    reason = "its channels are too few for a vector, and are written out in it"
    return changed, [Remark("applied", "vectorize", pixels.name, reason)], True


def _expands(plan: Plan, changed: Plan, model: SearchContext) -> bool:
    """Whether buffers are beyond the caches that were not, or were no more than a value."""
    before, after = (len(large_buffers(p.program, model)) for p in (plan, changed))
    return after > before


def _better_marked(
    plan: Plan, jammed: Plan, copy: str, model: SearchContext
) -> tuple[Plan, list[Remark]]:
    """The plan with several updates of a row in one pass, or with one in each, if that alone is a
    vector loop: what the first of a pass gives, the next may need."""
    several, said = _mark(jammed, copy, model)
    if _is_vector(several, copy):
        return several, said
    single, other = _mark(plan, copy, model)
    return (single, other) if _is_vector(single, copy) else (several, said)


def _is_vector(plan: Plan, copy: str) -> bool:
    loop = contiguous_loop(plan.program, copy)
    return loop is not None and loop.mark == "vector"


def _nothing(program: ScheduledProgram, name: str) -> Remark:
    array = program.copies[name].statement.array
    reason = "no loop walks its last subscript"
    if isinstance(program.copies[name].statement.value, Block):
        reason = "data decide what it runs"
    return Remark("not considered", "vectorize", array, reason)


def _bring_in(plan: Plan, loop: PlanLoop) -> Plan:
    """The contiguous loop innermost: by unrolling what it holds, or by moving it in."""
    inner = list(loops_of(loop.body))
    if not inner:
        return plan
    try:
        if _written_out(plan.program, loop.body) <= SHORT:
            return _unrolled(plan, loop, inner)
        return plan if _jumps(plan.program, loop) else _moved_in(plan, loop)
    except UserError:
        return plan


def _written_out(program: ScheduledProgram, body: Tree) -> int:
    """Iterations of the loops in a body once they are written out, one after the other and inside
    of each other; more than ``SHORT`` where sizes decide."""
    total = 0
    for node in body:
        if isinstance(node, PlanLoop):
            count = constant_trips(program, node)
            inside = max(1, _written_out(program, node.body))
            total += SHORT + 1 if count is None else count * inside
    return total


def _pays(plan: Plan, changed: Plan, copy: str, loop: PlanLoop, model: SearchContext) -> bool:
    """Whether a loop is better innermost: as a rule; where most elements that are read lie in other
    rows, and no floating operation waits for the one before, only if that is predicted to pay."""
    if any(_waits(plan.program, name) for name in copies_in(loop)):
        return True
    rows = _rows(plan.program, loop)
    weights = dict.fromkeys((True, False), 0)
    for host, way in rows:
        if way is not None:
            weights[way] += instances_of(plan.program.copies[host], model.sizes)
    if weights[True] <= weights[False]:
        return True
    marked, _ = _mark(changed, copy, model)
    return predicted(marked, model, threads=1) < predicted(plan, model, threads=1)


def _waits(program: ScheduledProgram, copy: str) -> bool:
    """Whether a floating value is made from the one before it."""
    statement = program.copies[copy].statement
    is_own = any(access.array == statement.array for access in statement.reads)
    return is_own and statement.value.type.is_float


def _jumps(program: ScheduledProgram, loop: PlanLoop) -> bool:
    """Whether more reads go from row to row as the loop goes on than go along a row.

    Such a loop is no good innermost, even where it walks along what is written: the sum of each
    row of a matrix is one.
    """
    ways = [way for _, way in _rows(program, loop)]
    return ways.count(True) > ways.count(False)


def _rows(program: ScheduledProgram, loop: PlanLoop) -> list[tuple[str, bool | None]]:
    """For each read of a loop's statements, whether it goes to another row as the loop goes on."""
    return [
        (host, _changes_rows(touch, program.copies[host].outer + iterator))
        for host in copies_in(loop)
        if (iterator := last_iterator(program.copies[host].statement)) is not None
        and loop.values[host].involves_dims(dim_type.in_, program.copies[host].outer + iterator, 1)
        for touch in program.read_events
        if touch.host == host and touch.access.array != program.copies[host].statement.array
    ]


def _changes_rows(touch: ScheduledAccess, wanted: int) -> bool | None:
    """Whether the element lies in another row when a dimension of its host moves on.

    ``None``: it is the same element, or depends on data.
    """
    #: { H[d] -> A[x] }
    host_to_element = touch.accessed
    rank = host_to_element.dim(dim_type.out)
    if rank == 0 or not host_to_element.is_single_valued():
        return None
    element = PwMultiAff.from_map(host_to_element)
    moves = [
        any(aff.involves_dims(dim_type.in_, wanted, 1) for _, aff in subscript.get_pieces())
        for subscript in map(element.get_at, range(rank))
    ]
    return any(moves[:-1]) if any(moves) else None


def _unrolled(plan: Plan, loop: PlanLoop, inner: list[PlanLoop]) -> Plan:
    for node in inner:
        plan = plan if node.mark == "unroll" else plan.unroll(node.name)
    return _separated(plan, loop)


def _separated(plan: Plan, loop: PlanLoop) -> Plan:
    """The loop and the two around it with interior iterations apart, where tests depend on them."""
    for node in path_to(plan.program, loop.name)[-3:]:
        plan = plan if node.separate else plan.separate_full_tiles(node.name)
    return plan


def _moved_in(plan: Plan, loop: PlanLoop) -> Plan:
    """Each statement group of the loop gets a loop of its own, innermost in its nest where one of
    its statements walks along it."""
    plan = widen_locals(plan, loop)
    firsts = [copies_in(child)[0] for child in loop.body]
    for first in firsts[1:]:
        current = loop_like(plan.program, first, loop)
        plan = plan.distribute(current.name, at=first)
    for first in firsts:
        chain = _perfect(loop_like(plan.program, first, loop))
        walking = (contiguous_loop(plan.program, name) for name in chain[0].copies)
        if len(chain) > 1 and any(own is chain[0] for own in walking):
            plan = plan.reorder(*(n.name for n in (*chain[1:], chain[0])))
    return plan


def _perfect(loop: PlanLoop) -> list[PlanLoop]:
    chain = [loop]
    while len(chain[-1].body) == 1 and isinstance(chain[-1].body[0], PlanLoop):
        chain.append(chain[-1].body[0])
    return chain


def _jam_reductions(plan: Plan, copy: str) -> Plan:
    """The last of the reduction loops around an innermost contiguous loop moved inside it,
    unrolled: each element is then loaded and stored once for several updates.

    Short loops of constant length move as they are; a long one gives blocks of ``JAM``.
    """
    vector = contiguous_loop(plan.program, copy)
    around = _reductions_around(plan.program, copy, vector)
    if vector is None or vector.mark or not around:
        return plan
    kept = _short_tail(plan.program, around)
    try:
        if kept:
            inner = around[len(around) - kept :]
            plan = plan.reorder(vector.name, *(n.name for n in inner))
            for node in inner:
                plan = plan.unroll(node.name)
            return _separated(plan, vector)
        last = around[-1]
        plan = plan.split(last.name, JAM)
        blocks = path_to(plan.program, last.name)[-2]
        plan = plan.reorder(blocks.name, vector.name, last.name)
        return plan.unroll(last.name).separate_full_tiles(blocks.name)
    except UserError:
        return plan


def _reductions_around(
    program: ScheduledProgram, copy: str, vector: PlanLoop | None
) -> list[PlanLoop]:
    """The loops directly around an innermost loop that the copy's target does not move with."""
    if vector is None or any(isinstance(child, PlanLoop) for child in vector.body):
        return []
    statement = program.copies[copy].statement
    if statement.reduction is None:
        return []
    path = program.places[copy].loops
    result: list[PlanLoop] = []
    for loop in reversed(path[: path.index(vector)]):
        if len(loop.body) != 1 or moves_target(program, copy, loop):
            break
        result.insert(0, loop)
    return result


def _short_tail(program: ScheduledProgram, loops: list[PlanLoop]) -> int:
    """How many of the innermost loops run ``SHORT`` times at most, all together."""
    total = 1
    for kept, loop in enumerate(reversed(loops)):
        trip = constant_trips(program, loop)
        if trip is None or total * trip > SHORT:
            return kept
        total *= trip
    return len(loops)


def _broken(program: ScheduledProgram, copy: str, loop: PlanLoop, model: SearchContext) -> int:
    """The iterations of a loop, always as many, that are few and no whole vectors; else 0.

    Blocks are as long as whoever cut them needs.
    """
    if any(node.blocks_of is loop.origin for node in program.places[copy].loops):
        return 0
    width = computed_bytes(program, program.copies[copy])
    count = constant_trips(program, loop) or 0
    is_broken = 1 < count < 2 * model.target.lanes(width) and count * width % SHORTEST != 0
    return count if is_broken and trips(program, loop, model.sizes) == count else 0


def _mark(plan: Plan, copy: str, model: SearchContext) -> tuple[Plan, list[Remark]]:
    loop = contiguous_loop(plan.program, copy)
    if loop is None or loop.mark:
        return plan, []
    if count := _broken(plan.program, copy, loop, model):
        reason = "its few iterations are no whole vectors"
        said = Remark("refused", "vectorize", loop.name, reason, numbers={"iterations": count})
        return plan, [said]
    remarks: list[Remark] = []
    whole, name = plan, loop.name
    times = period(plan.program, loop)
    if 1 < times <= LONGEST_PERIOD:
        plan = plan.split(name, times)
        blocks = path_to(plan.program, name)[-2].name
        plan, name = plan.unroll(name).separate_full_tiles(blocks), blocks
        reason = f"remainders repeat after {times} iterations: each gets a statement of its own"
        remarks.append(Remark("applied", "unroll", loop.name, reason))
    try:
        marked = checked(plan.vectorize(name), name)
    except UserError as error:
        return whole, [refusal("vectorize", loop.name, error)]
    reason = "its iterations are independent and contiguous"
    remarks.append(Remark("applied", "vectorize", name, reason))
    if times == 1 and interior(marked.program, find_loop(marked.program, name)) is not None:
        marked = _apart(marked, name)
        reason = "borders are near in few of its iterations: the others need no tests"
        remarks.append(Remark("applied", "separate_full_tiles", name, reason))
    return marked, remarks


def _apart(plan: Plan, vector: str) -> Plan:
    """A vector loop with its borders apart, and those of the loops around it whose borders have
    statements of their own."""
    plan = plan.separate_full_tiles(vector)
    for node in path_to(plan.program, vector)[:-1]:
        if not node.separate and everywhere(plan.program, node) is not None:
            plan = plan.separate_full_tiles(node.name)
    return plan
