"""Sliding windows (line buffers): strips of rows, down which producers run row by row.

Each producer keeps a window of the rows that are still read, so its values stay in the cache and
are computed once, except in the rows where strips meet. Producers join backwards from the
result, each if what is computed twice costs less than storing and loading all of it, while the
windows leave room in the second-level cache.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.errors import UserError
from polyopt.isl import dim_type
from polyopt.memo import memo
from polyopt.scheduler.context import Budget
from polyopt.scheduler.model.cache import array_bytes, private_bytes
from polyopt.scheduler.model.instances import instances_of, trips
from polyopt.scheduler.model.op_cost import work
from polyopt.scheduler.queries import in_groups, is_legal, is_ready, next_root, producers_of
from polyopt.scheduler.strategies.clone_stage import FAR, is_cheap
from polyopt.scheduler.strategies.jam_rows import block, choose_blocks
from polyopt.transform.loops.interchange import perfect_chain
from polyopt.transform.schedule.query import copies_of, find_loop, loops_around
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import prefix_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polyopt.isl import Map
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.access import ScheduledAccess
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: rows per strip that are tried, in turn, while much of the work is repeated
STRIPS = (128, 256)
#: strips per thread below which some threads wait for others
PER_THREAD = 4
#: share of the second-level cache for all windows of a thread
ROOM = 0.75
#: operations of a lane that take as long as to store a byte and load it again, within L2
NEAR = 1.5
#: nothing is computed more often than this
MOST_REPEATED = 3.0
#: share of work that may be repeated before longer strips are tried
SMALL = 0.1
#: share of the gain that too few strips for the threads cost
FEW = 0.2
WASTE = "too much of it would be computed again"
TOO_WIDE = "windows of so many rows would leave the cache"


@dataclass(frozen=True, eq=False)
class _Strips:
    """A result in strips of rows, with the producers that have joined."""

    plan: Plan
    root: str
    #: the loop over strips, and that over the rows of one
    at: str
    rows: str
    #: makes the strips alone, of a plan without them
    cut: Callable[[Plan], Plan]
    remarks: tuple[Remark, ...] = ()
    fused: tuple[str, ...] = ()
    #: operations that stores and loads would have cost, less those that are repeated
    gain: float = 0.0
    #: whether another strip may repeat less
    wasteful: bool = False


def pipelines(plan: Plan, model: SearchContext) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with row pipelines for every result, then for every array that stayed."""
    remarks: list[Remark] = []
    done = in_groups(plan.program)
    budget = Budget()
    while (root := next_root(plan.program, done)) is not None:
        done.add(root)
        found = group_rows(plan, model, root, budget)
        if found is not None:
            plan, said = found
            remarks += said
    return plan, tuple(remarks)


def group_rows(
    plan: Plan, model: SearchContext, root: str, budget: Budget
) -> tuple[Plan, tuple[Remark, ...]] | None:
    """The plan with producers of ``root`` running down strips of its rows; ``None`` if none can."""
    around = loops_around(plan.program, root)
    moving = moves_with(plan.program, root, around)
    best: _Strips | None = None
    for names, rows in _orders(around, moving):
        for size in STRIPS:
            try:
                strips = _cut(plan, root, names, rows, size)
            except UserError:
                break
            grown = _grow(strips, model, moving, budget)
            if grown.fused and _in_all(grown, model) < model.target.cores:
                grown = _shorter(grown, plan, names, model, moving, budget)
            if grown.fused and (best is None or grown.gain > best.gain):
                best = grown
            if not grown.wasteful:
                break
        if best is not None and not best.wasteful:
            break
    if best is None:
        return None
    best = _in_blocks(plan, best, model)
    if model.cautious and not is_legal(best.plan):
        return None
    return best.plan, best.remarks


def _shorter(
    strips: _Strips,
    plan: Plan,
    names: list[str],
    model: SearchContext,
    moving: Mapping[str, frozenset[str]],
    budget: Budget,
) -> _Strips:
    """Strips for all threads, in place of fewer than there are threads, where these repeat little
    and the same producers join."""
    entries = _in_all(strips, model) / _strips_of(strips, model)
    rows = entries * trips(plan.program, find_loop(plan.program, strips.rows), model.sizes)
    for share in (PER_THREAD * model.target.cores, model.target.cores):
        size = ceil(rows / share)
        try:
            found = _grow(_cut(plan, strips.root, names, strips.rows, size), model, moving, budget)
        except UserError:
            return strips
        if found.fused == strips.fused and not found.wasteful:
            return found
    return strips


def _in_blocks(plan: Plan, strips: _Strips, model: SearchContext) -> _Strips:
    """The strips made again of ``plan``, a few rows at once, where that is clearly cheaper."""
    program, root = strips.plan.program, strips.root
    chosen = choose_blocks(program, root, strips.fused, strips.rows, model.sizes)
    if chosen is None:
        return strips
    try:
        larger = block(plan, chosen, strips.cut, strips.rows, strips.fused)
    except UserError as error:
        reason = error.diagnostic.message
        said = Remark("refused", "unroll_and_jam", root, reason, code=error.code)
        return replace(strips, remarks=(*strips.remarks, said))
    windows = private_bytes(larger.program, strips.at, model.sizes)
    if windows > ROOM * model.target.l2_bytes:
        numbers = {"rows": chosen.height, "bytes": windows, "cache bytes": model.target.l2_bytes}
        said = Remark("refused", "unroll_and_jam", root, TOO_WIDE, numbers=numbers)
        return replace(strips, remarks=(*strips.remarks, said))
    kept = (r for r in strips.remarks if r.subject not in chosen.inlined)
    return replace(strips, plan=larger, remarks=(*kept, *chosen.remarks(root)))


def _orders(
    around: tuple[PlanLoop, ...], moving: Mapping[str, frozenset[str]]
) -> Iterator[tuple[list[str], str]]:
    """Orders of the root's loops, from the outside in, each with its loop over rows.

    Loops that all producers move with go outside; the last but one of these goes over rows. Where
    others go outside of it, such as one over channels, they may go inside too: windows are longer
    then, and what all channels need is computed once.
    """
    followers = {n.name: sum(n.name in loops for loops in moving.values()) for n in around}
    most = max(followers.values(), default=0)
    outer = [n.name for n in around if followers[n.name] == most]
    if not most or len(outer) < 2:
        return
    others = [n.name for n in around if n.name not in outer]
    *batch, rows, columns = outer
    inner = [*others, columns] if columns == around[-1].name else [columns, *others]
    yield [*batch, rows, *inner], rows
    if batch:
        yield [rows, *batch, *inner], rows


def moves_with(
    program: ScheduledProgram, root: str, around: Sequence[PlanLoop]
) -> dict[str, frozenset[str]]:
    """Per temporary array that ``root`` depends on: the loops around ``root`` with which the part
    of the array that an iteration needs moves on."""
    #: copy -> the loops of the root that each of its dimensions moves with
    dims: dict[str, list[frozenset[str]]] = {}
    for host in copies_of(program, root):
        dims[host] = [
            frozenset(n.name for n in around if n.values[host].involves_dims(dim_type.in_, d, 1))
            for d in range(program.copies[host].domain.dim(dim_type.set))
        ]
    reads: dict[str, list[ScheduledAccess]] = {}
    for touch in program.read_events:
        reads.setdefault(touch.host, []).append(touch)
    #: array -> the same for its subscripts
    subscripts: dict[str, list[frozenset[str]]] = {}
    for host in reversed(list(program.places)):
        copy = program.copies[host]
        if copy.statement.array in subscripts and not copy.outer:
            known = subscripts[copy.statement.array]
            dims[host] = _united(_linked(copy.statement.write.relation.reverse()), known)
        for touch in reads.get(host, []) if host in dims else []:
            array = program.scop.array(touch.access.array)
            if array.role == "temp" and array.name != copy.statement.array:
                found = _united(_links(touch), dims[host])
                known = subscripts.setdefault(array.name, [frozenset()] * array.rank)
                subscripts[array.name] = [a | b for a, b in zip(known, found, strict=True)]
    return {array: frozenset().union(*known) for array, known in subscripts.items()}


@memo
def _links(touch: ScheduledAccess) -> list[list[int]]:
    """``_linked`` of ``{ H[d] -> A[x] }``: every root asks it of the same accesses."""
    return _linked(touch.accessed)


def _linked(relation: Map) -> list[list[int]]:
    """Per dimension of the range: those of the domain that it moves with."""
    result: list[list[int]] = []
    rank = relation.dim(dim_type.out)
    for position in range(rank):
        line = relation.project_out(dim_type.out, position + 1, rank - position - 1)
        line = line.project_out(dim_type.out, 0, position)
        free = line.gist_domain(line.domain())
        count = range(relation.dim(dim_type.in_))
        result.append([d for d in count if free.involves_dims(dim_type.in_, d, 1)])
    return result


def _united(links: list[list[int]], known: Sequence[frozenset[str]]) -> list[frozenset[str]]:
    return [frozenset().union(*(known[d] for d in dims)) for dims in links]


def _cut(plan: Plan, root: str, names: list[str], rows: str, size: int) -> _Strips:
    """The root's loops in an order, those over rows in strips of ``size``."""

    def cut(plan: Plan) -> Plan:
        if len(names) > 1 and [n.name for n in perfect_chain(plan.program, names)] != names:
            plan = plan.reorder(*names)
        return plan.tile(root, **{rows.rpartition(".")[2]: size})

    before = {loop.name for loop in loops_around(plan.program, root)}
    plan = cut(plan)
    (strips,) = (n.name for n in loops_around(plan.program, root) if n.name not in before)
    return _Strips(plan, root, strips, rows, cut)


def _grow(
    strips: _Strips, model: SearchContext, moving: Mapping[str, frozenset[str]], budget: Budget
) -> _Strips:
    """The strips with every producer that can join."""
    refused: set[str] = set()
    while budget.left > 0:
        inside = {strips.root, *strips.fused}
        program = strips.plan.program
        waiting = [
            p
            for p in producers_of(program, inside)
            if p not in refused
            and (is_ready(program, p, inside) or is_cheap(program.scop, p, model))
        ]
        if not waiting:
            break
        producer = waiting[0]
        joined = _join(strips, producer, model, moving, budget)
        if isinstance(joined, Remark):
            refused.add(producer)
            strips = replace(strips, remarks=(*strips.remarks, joined))
            strips = replace(strips, wasteful=strips.wasteful or joined.reason == WASTE)
        else:
            strips = joined
    few = max(0.0, 1 - _strips_of(strips, model) / (PER_THREAD * model.target.cores))
    return replace(strips, gain=strips.gain * (1 - FEW * few))


def _join(
    strips: _Strips,
    producer: str,
    model: SearchContext,
    moving: Mapping[str, frozenset[str]],
    budget: Budget,
) -> _Strips | Remark:
    """The strips with a producer running down them, or why not."""
    plan, scop = strips.plan, strips.plan.scop
    array = scop.array(producer)
    size = array_bytes(array, model.sizes)
    numbers: dict[str, float] = {"bytes": size}

    def refused(reason: str, code: str = "") -> Remark:
        return Remark("refused", "fuse", producer, reason, strips.root, numbers=numbers, code=code)

    if strips.rows not in moving.get(producer, frozenset()):
        return refused("each row needs all of it")
    if size <= model.target.l1_bytes:
        return refused("it stays in the cache anyway")
    budget.left -= 1
    try:
        larger = plan.fuse(producer, into=strips.root, at=strips.rows, storage="sliding")
    except UserError as error:
        return refused(error.diagnostic.message, error.code)
    made = [c for name, c in larger.program.copies.items() if name not in plan.program.copies]
    runs = sum(instances_of(c, model.sizes) for c in made)
    once = sum(about(s.domain, model.sizes) for s in scop.statements if s.array == producer)
    each = sum(work(s.value) for s in scop.statements if s.array == producer)
    stays = any(name in larger.program.copies for name in copies_of(plan.program, producer))
    numbers["recompute"] = round(runs / max(once, 1) + stays, 3)
    worth = array.type.bytes * (FAR if size > model.target.l2_bytes else NEAR)
    repeated = (numbers["recompute"] - 1) * each
    if numbers["recompute"] > MOST_REPEATED or repeated > worth:
        return refused(WASTE)
    windows = private_bytes(larger.program, strips.at, model.sizes)
    if windows > ROOM * model.target.l2_bytes:
        return refused("the group's buffers would leave the cache")
    reason = "computed row by row, in a window of its rows"
    done = Remark("applied", "fuse", producer, reason, strips.root, numbers=numbers)
    return replace(
        strips,
        plan=larger,
        remarks=(*strips.remarks, done),
        fused=(*strips.fused, producer),
        gain=strips.gain + once * (worth - repeated),
        wasteful=strips.wasteful or (not stays and numbers["recompute"] > 1 + SMALL),
    )


def _in_all(strips: _Strips, model: SearchContext) -> float:
    """How many strips there are, of all that loops around them have."""
    program = strips.plan.program
    copy = copies_of(program, strips.root)[-1]
    path = program.places[copy].loops
    level = next(k for k, loop in enumerate(path) if loop.name == strips.at)
    return about(prefix_map(program.copies[copy], path[: level + 1]).range(), model.sizes)


def _strips_of(strips: _Strips, model: SearchContext) -> float:
    """How many strips there are, each time that their loop is entered."""
    loop = find_loop(strips.plan.program, strips.at)
    return trips(strips.plan.program, loop, model.sizes)
