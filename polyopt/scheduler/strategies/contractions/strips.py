"""Contractions between transformations of tiles, fused in strips of tiles of the results.

Where a sum that registers hold tiles of reads an array that is computed, and the results are made
of what it stores tile by tile, as in Winograd's convolutions, the arrays between are larger than
what is read and written, and pass through memory. A strip of tiles needs a part of them that the
second-level cache holds: what is read before is computed for each block of the sum, what comes
behind for each block of results.

rewrite: ``V[y / t] = f(x); M[y / t] += V w; out[y] = g(M[y / t]);`` ->
``for (y_tile) { v = f(x); m += v w; for (c) { out[c][y] = g(m[c]); } }`` with a few of the tiles
``y / t`` in each strip.

How many tiles are in a strip is weighed: operands that do not move with it are read again for each,
and have to come while the sums are computed. (Output-driven fusion.)

*Does not handle* several sums, several results, arrays between that something else reads, and sizes
that are open but for that of the outermost dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from graphlib import CycleError, TopologicalSorter
from math import ceil, prod
from typing import TYPE_CHECKING

from polyopt.errors import IllegalScheduleError, UserError
from polyopt.isl import Map, constant_value, dim_type
from polyopt.scheduler.model.machine import costs_of
from polyopt.scheduler.strategies.contractions.register_tiles import tile_of
from polyopt.scheduler.strategies.contractions.strip_plan import StripPlan
from polyopt.scheduler.subscripts import step
from polyopt.transform.schedule.remark import Remark

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Scop, Statement
    from polyopt.scheduler.strategies.contractions.tile_sizes import RegisterTile, Sum
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram


@dataclass(frozen=True)
class Along:
    """How a dimension of the results goes with one of the sums: ``tile`` results to each."""

    result: int
    sums: int
    tile: int


@dataclass(frozen=True)
class Strips:
    """A program that qualifies: the statements of its sum and of its result, the arrays that are
    computed before and behind it, each after what reads it, and how results go with sums."""

    sum: str
    result: str
    before: tuple[str, ...]
    behind: tuple[str, ...]
    along: tuple[Along, ...]
    #: dimensions of the result: around the strips, and of blocks of results in them
    batch: tuple[int, ...]
    blocks: tuple[int, ...]

    @property
    def strip(self) -> Along:
        """The dimension that is in strips: the first of those with tiles."""
        return next(a for a in self.along if a.tile > 1)


@dataclass(frozen=True)
class Choice:
    """How many tiles are in a strip, and the tile of sums in registers."""

    tiles: int
    sums: Sum
    registers: RegisterTile


def contraction_strips(
    plan: Plan, target: Target, sizes: Mapping[str, int]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with a sum and its transformations in strips, where the program is such a one."""
    found = strips_of(plan.program, target, sizes)
    choice = found and _chosen(plan.program, found, target, sizes)
    if not found or not choice:
        return plan, ()
    array = plan.program.copies[found.result].statement.array
    try:
        made = StripPlan(plan, target, found, choice).made()
        made.prove()
    except UserError as error:
        reason = f"not in strips with what it is made of: {error.diagnostic.message}"
        witnesses = error.witnesses if isinstance(error, IllegalScheduleError) else ()
        remark = Remark("refused", "fuse", array, reason, witnesses=witnesses, code=error.code)
        return plan, (remark,)
    numbers = {"tiles": float(choice.tiles), "results of a tile": float(found.strip.tile)}
    reason = "each strip of tiles computes the sums that it needs, and what they are made of"
    return made, (Remark("applied", "fuse", array, reason, numbers=numbers),)


# -- what qualifies -----------------------------------------------------------------------------


def strips_of(program: ScheduledProgram, target: Target, sizes: Mapping[str, int]) -> Strips | None:
    """What a program is made of, where it qualifies."""
    scop = program.scop
    sums = [n for n in program.places if program.copies[n].statement.reduction is not None]
    results = [a.name for a in scop.arrays if a.is_live_out]
    if len(sums) != 1 or len(results) != 1:
        return None
    total = program.copies[sums[0]].statement
    written = {program.copies[n].statement.array: n for n in program.places}
    computed = [a for a in reads_of(total) if a in written and a != total.array]
    if scop.array(total.array).role != "temp" or len(computed) != 1:
        return None
    if _is_cyclic(scop, total.array):
        return None
    before = _chain(scop, computed[0], "")
    behind = _chain(scop, results[0], total.array)[1:]
    if {total.array, results[0], *before, *behind} != written.keys() or set(before) & set(behind):
        return None
    chosen = tile_of(program, sums[0], target, sizes)
    along = _along(scop, results[0], total.array)
    if chosen is None or all(a.tile == 1 for a in along):
        return None
    weights = {
        k for k, index in enumerate(total.index)
        if any(step(index, d) != 0 and o.is_vector and d in o.moves
               for d in chosen[0].results for o in chosen[0].operands)
    }  # fmt: skip
    lane = next(k for k, index in enumerate(total.index) if step(index, chosen[0].columns) != 0)
    plain = [a for a in along if a.tile == 1 and a.sums != lane]
    batch = tuple(a.result for a in plain if a.sums not in weights)
    blocks = tuple(a.result for a in plain if a.sums in weights)
    return Strips(sums[0], written[results[0]], tuple(before), tuple(behind), along, batch, blocks)


def reads_of(statement: Statement) -> list[str]:
    """The arrays that a statement reads, in their order."""
    return list(dict.fromkeys(access.array for access in statement.reads))


def _is_cyclic(scop: Scop, sums: str) -> bool:
    """Whether arrays are computed from themselves, but for the sums."""
    needs: dict[str, set[str]] = {}
    for statement in scop.statements:
        read = set(reads_of(statement)) - ({sums} if statement.array == sums else set())
        needs.setdefault(statement.array, set()).update(read)
    try:
        TopologicalSorter(needs).prepare()
    except CycleError:
        return True
    return False


def _chain(scop: Scop, array: str, end: str) -> list[str]:
    """An array and the temporary ones that it is computed from, each after what reads it; up to
    where ``end`` is read."""
    found: list[str] = []
    wait = [array]
    while wait:
        name = wait.pop(0)
        found = [*(n for n in found if n != name), name]
        for statement in scop.statements:
            if statement.array == name:
                wait += [a for a in reads_of(statement)
                         if scop.array(a).role == "temp" and a not in {name, end}]  # fmt: skip
    return found


def _along(scop: Scop, result: str, sums: str) -> tuple[Along, ...]:
    """How dimensions of results go with those of sums, of which there are more; none where some
    dimension does not."""
    needed = _needs(scop, result, sums)
    if needed is None:
        return ()
    own, others = (_extents(scop, name) for name in (result, sums))
    found: list[Along] = []
    for d, length in enumerate(own):
        free = [p for p in range(len(others)) if all(p != a.sums for a in found)]
        pairs = (Along(d, p, tile) for p in free if (tile := _tile(length, others[p])))
        match = next((a for a in pairs if needed.is_subset(_tiled(needed, a))), None)
        if match is None:
            return ()
        found.append(match)
    return tuple(found)


def _tile(length: int | None, count: int | None) -> int:
    """How many of a dimension go to each of so many; 0 where they cannot. Open ones are alike."""
    if length is None or count is None:
        return int(length is count)
    tile = ceil(length / count)
    return tile if ceil(length / tile) == count else 0


def _extents(scop: Scop, array: str) -> list[int | None]:
    return [constant_value(extent) for extent in scop.array(array).extents]


def _tiled(like: Map, along: Along) -> Map:
    """``{ [i] -> [j] : j[sums] = floor(i[result] / tile) }``, in a relation's space."""
    ins, outs = (
        [f"{mark}{k}" for k in range(like.dim(kind))]
        for mark, kind in (("i", dim_type.in_), ("o", dim_type.out))
    )
    first = f"{along.tile} o{along.sums} <= i{along.result}"
    last = f"i{along.result} < {along.tile} o{along.sums} + {along.tile}"
    made = Map(f"{{ [{', '.join(ins)}] -> [{', '.join(outs)}] : {first} and {last} }}")
    for kind in (dim_type.in_, dim_type.out):
        made = made.set_tuple_id(kind, like.get_tuple_id(kind))
    return made


def _needs(scop: Scop, array: str, wanted: str) -> Map | None:
    """``{ array[i] -> wanted[j] }``: what an element is computed from."""
    found: Map | None = None
    for statement in (s for s in scop.statements if s.array == array):
        back = statement.write.relation.reverse()
        for name in reads_of(statement):
            link = back.apply_range(_union(a.relation for a in statement.reads if a.array == name))
            if name != wanted:
                further = _needs(scop, name, wanted) if scop.array(name).role == "temp" else None
                if further is None:
                    continue
                link = link.apply_range(further)
            found = (link if found is None else found.union(link)).coalesce()
    return found


def _union(relations: Iterable[Map]) -> Map:
    first, *others = relations
    for other in others:
        first = first.union(other)
    return first.coalesce()


# -- how many tiles -----------------------------------------------------------------------------


def _chosen(
    program: ScheduledProgram, found: Strips, target: Target, sizes: Mapping[str, int]
) -> Choice | None:
    """The strip with the fewest cycles in which sums are computed, and their operands come."""
    total = program.copies[found.sum].statement
    dims = range(len(total.iterators))
    moved = next(d for d in dims if step(total.index[found.strip.sums], d) == 1)
    count = _extents(program.scop, total.array)[found.strip.sums] or 1
    around = {a.sums for a in found.along if a.result in found.batch}
    alone = {d: None for d in dims for k in around if step(total.index[k], d) == 1}
    size = total.value.type.bytes
    stored, computed = (
        prod(e or 1 for k, e in enumerate(_extents(program.scop, array)) if k not in around)
        // count
        for array in (total.array, found.before[0])
    )
    best: tuple[float, Choice] | None = None
    for tiles in _counts(count):
        length = tiles if count % tiles == 0 and tiles > 1 else None
        chosen = tile_of(program, found.sum, target, sizes, {**alone, moved: length})
        if chosen is None:
            continue
        sums, tile = chosen
        work = tiles * stored * sums.steps / sums.lanes * tile.cycles
        others = sum(o.bytes for o in sums.operands if moved not in o.moves)
        between = tiles * (computed + stored) * size
        cycles = strip_cycles(target, ceil(count / tiles), work, others, between)
        if best is None or cycles < best[0]:
            best = cycles, Choice(tiles, sums, tile)
    return None if best is None else best[1]


def _counts(count: int) -> Iterator[int]:
    """Tiles in a strip: the fewest for each number of strips."""
    yield from dict.fromkeys(ceil(count / strips) for strips in range(count, 0, -1))


def strip_cycles(target: Target, strips: int, work: float, others: int, between: int) -> float:
    """Cycles of so many strips: each computes ``work`` while ``others``, bytes that it shares with
    the next one, come, and writes and reads the bytes that lie ``between``."""
    rate = partial(_rate, target)
    return strips * (max(work, others / rate(others + between)) + 2 * between / rate(between))


def _rate(target: Target, size: int) -> float:
    """Bytes per cycle of the cache that holds so many."""
    second, last, memory = costs_of(target).bandwidth
    return second if size <= target.l2_bytes else last if size <= target.last_bytes else memory
