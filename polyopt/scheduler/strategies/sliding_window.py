"""Sliding windows (line buffers): strips of rows, down which producers run row by row.

Each producer keeps a window of the rows that are still read, so its values stay in the cache and
are computed once, except in the rows where strips meet. Producers join backwards from the
result, each if what is computed twice costs less than storing and loading all of it, while the
windows leave room in the second-level cache.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, prod
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.errors import UserError
from polyopt.isl import dim_type
from polyopt.memo import memo
from polyopt.scheduler.context import MOST_STATEMENTS, Budget
from polyopt.scheduler.finishing.unroll_channels import pixels_of
from polyopt.scheduler.model.cache import array_bytes, private_bytes
from polyopt.scheduler.model.instances import instances_of, trips
from polyopt.scheduler.model.objective import CLEARLY, NOISE, predicted_group
from polyopt.scheduler.queries import (
    contiguous_loop,
    in_groups,
    is_legal,
    is_ready,
    next_root,
    producers_of,
)
from polyopt.scheduler.strategies.clone_stage import is_cheap
from polyopt.scheduler.strategies.jam_rows import block, blocks_of
from polyopt.scheduler.threads.parallelize import PER_THREAD
from polyopt.transform.loops.interchange import perfect_chain
from polyopt.transform.schedule.query import copies_of, find_loop, loops_around
from polyopt.transform.schedule.remark import Remark, refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polyopt.isl import Map
    from polyopt.scheduler.context import SearchContext
    from polyopt.scheduler.strategies.jam_rows import UnrollAndJam
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.access import ScheduledAccess
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: share of a producer that strips may compute again before longer ones are tried
SMALL = 0.1
LONGER = "in strips of rows it is predicted to take longer"
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
    #: nanoseconds that a call is predicted to take less
    saved: float = 0.0
    #: how often a producer's elements are computed, at most
    recompute: float = 1.0


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
        if _are_lanes(plan.program, rows, model):
            continue
        for size in _sizes(plan.program, names, rows, model):
            try:
                strips = _cut(plan, root, names, rows, size)
            except UserError:
                break
            grown = _pruned(_grown(strips, model, moving, budget), plan, model)
            if grown.fused and (best is None or grown.saved > best.saved):
                best = grown
            if grown.recompute <= 1 + SMALL:
                break
        if best is not None and best.recompute <= 1 + SMALL:
            break
    if best is None:
        return None
    best = _in_blocks(plan, best, model)
    if model.cautious and not is_legal(best.plan):
        return None
    return best.plan, best.remarks


def _sizes(
    program: ScheduledProgram, names: list[str], rows: str, model: SearchContext
) -> Iterator[int]:
    """Rows of a strip, few rows first: some strips for each thread, or one.

    Where the loops around the rows are shared evenly without them, a strip is all rows.
    """
    counts = [trips(program, find_loop(program, name), model.sizes) for name in names]
    level, cores = names.index(rows), model.target.cores
    outside, count = prod(counts[:level]), counts[level]
    even = outside >= PER_THREAD * cores or outside % cores == 0
    shares = (1 / outside,) if even else (PER_THREAD * cores / outside, cores / outside)
    yield from dict.fromkeys(ceil(count / max(1.0, share)) for share in shares)


def _in_blocks(plan: Plan, strips: _Strips, model: SearchContext) -> _Strips:
    """The strips made again of ``plan``, a few rows at once, where that is predicted to pay."""
    program, root = strips.plan.program, strips.root
    if len(strips.fused) > MOST_STATEMENTS:
        return strips
    alone = predicted_group(strips.plan, model, root, strips.fused, strips.at)
    best, least = strips, alone
    for blocks in blocks_of(program, root, strips.fused, strips.rows, model):
        made = _blocked(plan, strips, blocks, model)
        if isinstance(made, Remark):
            return best if best is not strips else replace(best, remarks=(*best.remarks, made))
        at = strips.at if len(blocks.inlined) < len(strips.fused) else ""
        taken = predicted_group(made, model, root, strips.fused, at)
        if taken > least * (_share(blocks, strips) if best is strips else 1 - NOISE):
            continue
        kept = (r for r in strips.remarks if r.subject not in blocks.inlined)
        said = blocks.remarks(root, {"predicted ns": taken, "in single rows": alone})
        best, least = replace(strips, plan=made, remarks=(*kept, *said)), taken
    return best


def _are_lanes(program: ScheduledProgram, rows: str, model: SearchContext) -> bool:
    """Whether a loop over rows will be the vector loop: its rows are the channels of a pixel."""
    for name in find_loop(program, rows).copies:
        loop = contiguous_loop(program, name)
        pixels = None if loop is None else pixels_of(program, name, loop, model.target)
        if pixels is not None and pixels.name == rows:
            return True
    return False


def _share(blocks: UnrollAndJam, strips: _Strips) -> float:
    """Of the time in single rows: what blocks may take at most to be taken.

    Those without windows need less memory, so they may take as long; those whose rows share a
    producer's values save its buffer; others only write out more.
    """
    if len(blocks.inlined) == len(strips.fused):
        return 1 + NOISE
    return 1 - NOISE if blocks.inlined else CLEARLY


def _blocked(
    plan: Plan, strips: _Strips, blocks: UnrollAndJam, model: SearchContext
) -> Plan | Remark:
    """The strips in blocks, or why they cannot be."""
    try:
        larger = block(plan, blocks, strips.cut, strips.rows, strips.fused)
    except UserError as error:
        return refusal("unroll_and_jam", strips.root, error)
    windows, cache = private_bytes(larger.program, strips.at, model.sizes), model.target.l2_bytes
    if windows <= cache:
        return larger
    numbers = {"rows": blocks.height, "bytes": windows, "cache bytes": cache}
    return Remark("refused", "unroll_and_jam", strips.root, TOO_WIDE, numbers=numbers)


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


def _grown(
    strips: _Strips, model: SearchContext, moving: Mapping[str, frozenset[str]], budget: Budget
) -> list[_Strips]:
    """The strips, then with one more producer each, until no other can join."""
    found, refused = [strips], set[str]()
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
        joined = _joined(strips, waiting[0], model, moving, budget)
        if isinstance(joined, Remark):
            refused.add(waiting[0])
            found = [replace(s, remarks=(*s.remarks, joined)) for s in found]
            strips = found[-1]
        else:
            strips = joined
            found.append(strips)
    return found


def _joined(
    strips: _Strips,
    producer: str,
    model: SearchContext,
    moving: Mapping[str, frozenset[str]],
    budget: Budget,
) -> _Strips | Remark:
    """The strips with a producer running down them, or why it cannot."""
    plan, scop = strips.plan, strips.plan.scop
    size = array_bytes(scop.array(producer), model.sizes)
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
    windows = private_bytes(larger.program, strips.at, model.sizes)
    if windows > model.target.l2_bytes:
        return refused("the group's buffers would leave the cache")
    made = [c for name, c in larger.program.copies.items() if name not in plan.program.copies]
    runs = sum(instances_of(c, model.sizes) for c in made)
    once = sum(about(s.domain, model.sizes) for s in scop.statements if s.array == producer)
    stays = any(name in larger.program.copies for name in copies_of(plan.program, producer))
    each = runs / max(once, 1)
    numbers["recompute"] = round(each + stays, 3)
    reason = "computed row by row, in a window of its rows"
    done = Remark("applied", "fuse", producer, reason, strips.root, numbers=numbers)
    return replace(
        strips,
        plan=larger,
        remarks=(*strips.remarks, done),
        fused=(*strips.fused, producer),
        recompute=max(strips.recompute, each),
    )


def _pruned(grown: list[_Strips], plan: Plan, model: SearchContext) -> _Strips:
    """The strips less the producers that joined last, as long as that is predicted to pay: what
    takes longer by itself stays where what feeds it makes up for it.

    Of plans that are predicted to take as long, the one with more producers needs less memory.
    """
    strips, fused = grown[-1], grown[-1].fused
    if not fused:
        return strips
    before = predicted_group(plan, model, strips.root, fused)
    taken = predicted_group(strips.plan, model, strips.root, fused, strips.at)
    for fewer in reversed(grown[:-1]):
        less = predicted_group(fewer.plan, model, strips.root, fused, strips.at)
        less = less if fewer.fused else before
        last = strips.fused[-1]
        if less > taken * (1 - NOISE) or not is_ready(plan.program, last, {strips.root, *fused}):
            break
        numbers = {"predicted ns": taken, "instead of": less}
        said = Remark("refused", "fuse", last, LONGER, strips.root, numbers=numbers)
        kept = (r for r in strips.remarks if (r.kind, r.subject) != ("applied", last))
        strips, taken = replace(fewer, remarks=(*kept, said)), less
    return replace(strips, saved=before - taken)
