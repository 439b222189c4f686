"""Unrolling into the vector loop: outer loops of a few iterations share what they load there.

Channels of a picture are such a loop: ``for (c) for (x) out[c][x] = ratio[x] * img[c][x];`` loads
``ratio`` once per channel, or computes it once per channel where it is inlined. Written out
inside of ``x``, the channels share one. So a producer that is repeated only for channels costs
nothing to inline.

So is a loop whose iterations look up elements at places that the same data decide on, each so far
from the others: ``for (k) for (x) out[k][x] = table[at(tone[x]) - 256 * k];``. To find the places,
and to take them apart lane by lane, is most of the work; written out inside of ``x`` it is done
once for all ``k``.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.ir.expr import Affine, loads, walk
from polyopt.isl import dim_type
from polyopt.scheduler.model.accesses import accesses_of, moves_of
from polyopt.scheduler.model.body import MOST_STRIDE
from polyopt.scheduler.model.instances import constant_trips
from polyopt.transform.schedule.query import loop_like, path_to
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of

if TYPE_CHECKING:
    from polyopt.codegen.target import Target
    from polyopt.ir.expr import Load
    from polyopt.ir.scop import Statement
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram

#: iterations that are written out, of all such loops around a statement together
MOST = 4
#: as many of those that look up elements at shared places, where there is more to share
MOST_LOOKUPS = 8
#: iterations of all loops inside of one over pixels that are written out
MOST_PIXEL = 32
#: share of a statement's loads that iterations have in common
SHARED = 0.25


def channels(statement: Statement) -> dict[int, int]:
    """Iterators of a constant few values, with how many: not that of contiguous elements."""
    if statement.reduction is not None or not statement.index:
        return {}
    rank = len(statement.iterators)
    last = statement.index[-1].form
    found: dict[int, int] = {}
    for k in range(rank):
        if last.involves_dims(dim_type.in_, k, 1):
            continue
        low, high = statement.domain.dim_min_val(k), statement.domain.dim_max_val(k)
        if low.is_int() and high.is_int():
            found[k] = high.sub(low).to_python() + 1
    few = {k: n for k, n in found.items() if 1 < n <= _most(statement, k)}
    return few if len(few) == 1 else {}


def _most(statement: Statement, k: int) -> int:
    """How many iterations of a loop are written out at most."""
    places = [
        inner
        for lookup in loads(statement.value)
        for subscript in lookup.index
        for inner in loads(subscript)
    ]
    return MOST_LOOKUPS if places and not any(_moves(p, k) for p in places) else MOST


def _moves(load: Load, k: int) -> bool:
    """Whether which element is loaded depends on an iterator."""
    nodes = [node for subscript in load.index for node in walk(subscript)]
    return any(
        isinstance(node, Affine) and node.form.involves_dims(dim_type.in_, k, 1) for node in nodes
    )


def jam_channels(plan: Plan, copy: str, vector: PlanLoop) -> Plan:
    """The plan with a statement's channels inside its vector loop, where they share loads."""
    loop = _channel_loop(plan.program, copy, vector)
    if loop is None or not _shares(plan.program, copy):
        return plan
    try:
        for child in loop.body[1:]:
            first = child.copies[0] if isinstance(child, PlanLoop) else child
            plan = plan.distribute(loop.name, at=first)
        path = path_to(plan.program, vector.name)
        own = loop_like(plan.program, copy, loop)
        inner = path[path.index(own) + 1 :]
        return plan.reorder(*(n.name for n in inner), own.name)
    except UserError:
        return plan


def pixels_of(
    program: ScheduledProgram, copy: str, loop: PlanLoop, target: Target
) -> PlanLoop | None:
    """The loop around a contiguous one that is too short for a vector, if vectors may run along it:
    all that it holds is short, and lanes are few elements apart in all arrays.

    ``None`` where the contiguous loop is long enough.
    """
    path = path_to(program, loop.name)
    trips = constant_trips(program, loop)
    lanes = target.lanes(program.copies[copy].statement.value.type.bytes)
    if trips is None or not 1 < trips < lanes or len(path) < 2 or path[-2].mark:
        return None
    pixels = path[-2]
    inner = [constant_trips(program, node) for node in loops_of(pixels.body)]
    count = prod(MOST_PIXEL + 1 if n is None else n for n in inner)
    around = constant_trips(program, pixels)
    if count > MOST_PIXEL or (around is not None and around < lanes):
        return None
    return pixels if all(is_near(program, one, pixels) for one in copies_in(pixels)) else None


def is_near(program: ScheduledProgram, copy: str, loop: PlanLoop) -> bool:
    """Whether iterations of a loop access elements that lie few elements apart."""
    loops = program.places[copy].loops
    moved = moves_of(copy, loops)[next(k for k, n in enumerate(loops) if n.name == loop.name)]
    strides = [access.stride(moved) for access in accesses_of(program, copy)]
    return all(stride is not None and abs(stride) <= MOST_STRIDE for stride in strides)


def _channel_loop(program: ScheduledProgram, copy: str, vector: PlanLoop) -> PlanLoop | None:
    """The loop over channels around a statement's vector loop."""
    scheduled = program.copies[copy]
    path = program.places[copy].loops
    few = channels(scheduled.statement)
    for loop in path[: path.index(vector)]:
        dims = [
            k
            for k in range(len(scheduled.statement.iterators))
            if loop.values[copy].involves_dims(dim_type.in_, scheduled.outer + k, 1)
        ]
        if len(dims) == 1 and dims[0] in few and not loop.mark:
            return loop
    return None


def _shares(program: ScheduledProgram, copy: str) -> bool:
    """Whether enough of what a statement loads is the same for all channels."""
    scheduled = program.copies[copy]
    (k,) = channels(scheduled.statement)
    touches = [t for t in program.read_events if t.host == copy]
    same = 0
    for touch in touches:
        #: { H[d] -> A[x] }
        element = touch.accessed
        element = element.gist_domain(scheduled.domain)
        moves = element.involves_dims(dim_type.in_, scheduled.outer + k, 1)
        same += element.is_single_valued() and not moves
    return same > 0 and same >= SHARED * len(touches)
