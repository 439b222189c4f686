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

*Does not handle* several sums, several results, and arrays between that something else reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import TYPE_CHECKING

from polyopt.errors import IllegalScheduleError, UserError
from polyopt.ir.expr import Inside, walk
from polyopt.isl import Map, constant_value, dim_type
from polyopt.scheduler.model.machine import costs_of
from polyopt.scheduler.queries import last_iterator
from polyopt.scheduler.strategies.contractions.register_tiles import tile_of
from polyopt.scheduler.subscripts import dimension_of, step
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import copies_in

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Scop, Statement
    from polyopt.scheduler.strategies.contractions.register_tiles import (
        RegisterTile,
        SumInBlocks,
    )
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: values of a dimension that choose what a statement computes: each is written out
MOST_CASES = 8


@dataclass(frozen=True)
class _Along:
    """How a dimension of the results goes with one of the sums: ``tile`` results to each."""

    result: int
    sums: int
    tile: int


@dataclass(frozen=True)
class _Strips:
    """A program that qualifies: its sum, what is computed before and behind it, and how the
    results go with the sums."""

    sum: str
    result: str
    #: that the sum reads, and what that is computed from, nearest first
    before: tuple[str, ...]
    #: between the sum and the result, nearest to the result first
    behind: tuple[str, ...]
    along: tuple[_Along, ...]
    #: dimensions of the result: around the strips, of a strip, of blocks of results
    batch: tuple[int, ...]
    strip: _Along
    blocks: tuple[int, ...]


def contraction_strips(
    plan: Plan, target: Target, sizes: Mapping[str, int]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with a sum and its transformations in strips, where the program is such a one."""
    if plan.scop.params:
        return plan, ()
    found = _strips(plan.program, target, sizes)
    if found is None:
        return plan, ()
    array = plan.program.copies[found.result].statement.array
    chosen = _chosen(plan.program, found, target, sizes)
    if chosen is None:
        return plan, ()
    count, total, tile = chosen
    try:
        made = _Maker(plan, found, total, tile, count).made()
        made.prove()
    except UserError as error:
        reason = f"not in strips with what it is made of: {error.diagnostic.message}"
        witnesses = error.witnesses if isinstance(error, IllegalScheduleError) else ()
        remark = Remark("refused", "fuse", array, reason, witnesses=witnesses, code=error.code)
        return plan, (remark,)
    numbers = {"tiles": float(count), "results of a tile": float(found.strip.tile)}
    reason = "each strip of tiles computes the sums that it needs, and what they are made of"
    return made, (Remark("applied", "fuse", array, reason, numbers=numbers),)


# -- what qualifies -----------------------------------------------------------------------------


def _strips(
    program: ScheduledProgram, target: Target, sizes: Mapping[str, int]
) -> _Strips | None:
    scop = program.scop
    sums = [n for n in program.places if program.copies[n].statement.reduction is not None]
    results = [a.name for a in scop.arrays if a.is_live_out]
    if len(sums) != 1 or len(results) != 1 or tile_of(program, sums[0], target, sizes) is None:
        return None
    total = program.copies[sums[0]].statement
    written = {program.copies[n].statement.array: n for n in program.places}
    computed = [a for a in _reads(total) if a in written and a != total.array]
    if scop.array(total.array).role != "temp" or len(computed) != 1:
        return None
    before = _chain(program, computed[0], frozenset())
    behind = _chain(program, results[0], frozenset({total.array}))[1:]
    statements = [total.array, results[0], *before, *behind]
    if before is None or len(set(statements)) != len(written):
        return None
    result = written[results[0]]
    along = _along(scop, results[0], total.array)
    moved = [a for a in along or () if a.tile > 1]
    if along is None or not moved:
        return None
    weights = _weights_move(total, computed[0])
    batch = [a.result for a in along if a.tile == 1 and a.sums not in weights]
    last = last_iterator(program.copies[result].statement)
    blocks = [a.result for a in along if a.tile == 1 and a.sums in weights and a.result != last]
    return _Strips(
        sums[0], result, tuple(before), tuple(behind), along, tuple(batch), moved[0], tuple(blocks)
    )


def _reads(statement: Statement) -> list[str]:
    return list(dict.fromkeys(access.array for access in statement.reads))


def _chain(program: ScheduledProgram, array: str, ends: frozenset[str]) -> list[str]:
    """An array and the temporary ones that it is computed from, each after what reads it; up to
    where ``ends`` are read."""
    scop = program.scop
    found: list[str] = []
    wait = [array]
    while wait:
        name = wait.pop(0)
        if name in ends:
            continue
        found = [*(n for n in found if n != name), name]
        for statement in scop.statements:
            if statement.array == name:
                wait += [a for a in _reads(statement) if scop.array(a).role == "temp" and a != name]
    return found


def _weights_move(total: Statement, computed: str) -> frozenset[int]:
    """The dimensions of the sums that move an operand which is there from the start."""
    dims = {d for d in range(len(total.iterators))
            for access in total.reads if access.array not in {computed, total.array}
            if access.relation.involves_dims(dim_type.in_, d, 1)
            and _is_moved(access.relation, d)}  # fmt: skip
    return frozenset(k for k, index in enumerate(total.index)
                     if any(step(index, d) != 0 for d in dims))  # fmt: skip


def _is_moved(relation: Map, dim: int) -> bool:
    """Whether what an instance reads changes with a dimension."""
    line = relation.gist_domain(relation.domain())
    return line.involves_dims(dim_type.in_, dim, 1)


def _along(scop: Scop, result: str, sums: str) -> tuple[_Along, ...] | None:
    """How dimensions of the results go with those of the sums; ``None`` where one does not."""
    #: { result[i] -> sums[j] }
    needed = _needs(scop, result, sums)
    if needed is None:
        return None
    extents = [_extents(scop, name) for name in (result, sums)]
    if not all(extents):
        return None
    found: list[_Along] = []
    for d, length in enumerate(extents[0]):
        for p, count in enumerate(extents[1]):
            tile = ceil(length / count)
            if any(p == a.sums for a in found) or ceil(length / tile) != count:
                continue
            if needed.is_subset(_tiled(needed, d, p, tile)):
                found.append(_Along(d, p, tile))
                break
        else:
            return None
    return tuple(found)


def _extents(scop: Scop, array: str) -> tuple[int, ...]:
    numbers = [constant_value(e) for e in scop.array(array).extents]
    return tuple(n for n in numbers if n is not None) if None not in numbers else ()


def _tiled(like: Map, result: int, sums: int, tile: int) -> Map:
    """``{ [i] -> [j] : j[sums] = floor(i[result] / tile) }`` in a relation's space."""
    ins, outs = ([f"{mark}{k}" for k in range(like.dim(kind))]
                 for mark, kind in (("i", dim_type.in_), ("o", dim_type.out)))  # fmt: skip
    low = f"{tile}o{sums} <= i{result} < {tile}o{sums} + {tile}"
    text = f"{{ [{', '.join(ins)}] -> [{', '.join(outs)}] : {low} }}"
    plain = Map(text)
    for kind in (dim_type.in_, dim_type.out):
        plain = plain.set_tuple_id(kind, like.get_tuple_id(kind))
    return plain


def _needs(scop: Scop, array: str, wanted: str) -> Map | None:
    """``{ array[i] -> wanted[j] }``: what an element is computed from."""
    found: Map | None = None
    for statement in scop.statements:
        if statement.array != array:
            continue
        back = statement.write.relation.reverse()
        for name in _reads(statement):
            reads = [a.relation for a in statement.reads if a.array == name]
            link = reads[0]
            for other in reads[1:]:
                link = link.union(other)
            link = back.apply_range(link).coalesce()
            if name != wanted:
                further = _needs(scop, name, wanted) if scop.array(name).role == "temp" else None
                if further is None:
                    continue
                link = link.apply_range(further).coalesce()
            found = link if found is None else found.union(link).coalesce()
    return found


# -- how many tiles -----------------------------------------------------------------------------


def _chosen(
    program: ScheduledProgram, found: _Strips, target: Target, sizes: Mapping[str, int]
) -> tuple[int, SumInBlocks, RegisterTile] | None:
    """How many tiles of the strip's dimension are in a strip, with the tile of sums in registers:
    the fewest cycles in which sums are computed, and their operands come."""
    total = program.copies[found.sum].statement
    (moved,) = (d for d in range(len(total.iterators))
                if step(total.index[found.strip.sums], d) == 1)  # fmt: skip
    extents = _extents(program.scop, total.array)
    count = extents[found.strip.sums]
    around = prod(extents[a.sums] for a in found.along if a.result in found.batch)
    size = total.value.type.bytes
    computed = prod(_extents(program.scop, found.before[0])) * size // (count * around)
    stored = prod(extents) * size // (count * around)
    best: tuple[float, int, SumInBlocks, RegisterTile] | None = None
    for tiles in range(1, count + 1):
        if ceil(count / tiles) == ceil(count / (tiles - 1)) if tiles > 1 else False:
            continue
        length = tiles if count % tiles == 0 and tiles > 1 else None
        one = tile_of(program, found.sum, target, sizes, {moved: length})
        if one is None:
            continue
        sums, tile = one
        strips = ceil(count / tiles)
        work = prod(extents) // (count * around) * tiles * sums.steps / sums.lanes * tile.cycles
        others = sum(o.bytes for o in sums.operands if moved not in o.moves)
        cycles = strip_cycles(target, strips, work, others, tiles * (computed + stored))
        if best is None or cycles < best[0]:
            best = cycles, tiles, sums, tile
    return None if best is None else best[1:]


def strip_cycles(target: Target, strips: int, work: float, others: int, between: int) -> float:
    """Cycles of all strips: each computes while operands that it shares with the others come, and
    writes and reads what lies between."""
    rates = costs_of(target).bandwidth
    caches = target.l2_bytes, target.last_bytes

    def rate(size: int) -> float:
        return rates[next((k for k, room in enumerate(caches) if size <= room), len(caches))]

    sums = max(work, others / rate(others + between))
    return strips * (sums + 2 * between / rate(between))


# -- the plan -----------------------------------------------------------------------------------


class _Maker:
    """Makes the plan of one program, in steps."""

    def __init__(
        self, plan: Plan, found: _Strips, total: SumInBlocks, tile: RegisterTile, count: int
    ) -> None:
        self.plan = plan
        self.found = found
        self.total = total
        self.tile = tile
        self.count = count
        self.array = plan.program.copies[found.result].statement.array
        self.sums = plan.program.copies[found.sum].statement.array

    def made(self) -> Plan:
        """The plan."""
        found = self.found
        behind = self._inlined()
        strip, block = self._strips()
        for array in behind:
            self.plan = self.plan.fuse(array, into=self.array, at=block)
        for array in (self.sums, found.before[0]):
            self.plan = self.plan.fuse(array, into=self.array, at=strip)
        self._before()
        self._sums(strip)
        for name in [n for n, c in self.plan.program.copies.items() if n in self._others()]:
            self._vectors(name)
        return self.plan

    def _inlined(self) -> list[str]:
        """Arrays behind the sums that are not computed where they are read."""
        kept: list[str] = []
        for array in self.found.behind:
            reader = self._written(self.array)
            if self._is_pointwise(array, reader) and not kept:
                self.plan = self.plan.inline(array)
            else:
                kept.append(array)
        return kept

    def _is_pointwise(self, array: str, reader: str) -> bool:
        """Whether each result is computed from one element of an array, in vectors along it."""
        program = self.plan.program
        touches = program.reads_of(array, (reader,))
        statement = program.copies[reader].statement
        lane = last_iterator(statement)
        if not touches or lane is None or array in program.inlined:
            return False
        relations = [touch.at_host.reverse().apply_range(touch.element) for touch in touches]
        if any(not r.is_equal(relations[0]) for r in relations):
            return False
        one = relations[0]
        rank = one.dim(dim_type.out)
        line = one.project_out(dim_type.out, 0, rank - 1)
        walks = line.is_single_valued() and _walks(line, lane)
        return one.is_single_valued() and one.is_injective() and walks

    def _strips(self) -> tuple[str, str]:
        """The result's nest in strips: their loop, and that over blocks in them."""
        found, name = self.found, self.found.result
        statement = self.plan.program.copies[name].statement
        across = [a for a in found.along if a.tile > 1 and a != found.strip]
        sizes = {statement.iterators[a.result]: a.tile for a in across}
        sizes[statement.iterators[found.strip.result]] = self.count * found.strip.tile
        self.plan = self.plan.tile(self.array, **sizes)
        last = last_iterator(statement)
        points = {d: self._loop(name, d).name for d in range(len(statement.iterators))}
        tiles = {a.result: self._block_of(name, a.result) for a in (found.strip, *across)}
        outer = [*(points[d] for d in found.batch), tiles[found.strip.result],
                 *(points[d] for d in found.blocks)]  # fmt: skip
        inner = [d for d in points if d not in {*found.batch, *found.blocks, last}]
        order = [n for d in inner if d != found.strip.result for n in (tiles.get(d), points[d]) if n]
        rest = [points[found.strip.result], *order, *([points[last]] if last is not None else [])]
        self.plan = self.plan.reorder(*outer, *rest)
        return tiles[found.strip.result], outer[-1]

    def _before(self) -> None:
        """What is read before the sums, for each block of them."""
        first, *others = self.found.before
        name = self._written(first)
        total = self._statement(self.found.sum)
        program = self.plan.program
        statement = program.copies[name].statement
        read = next(a for a in total.reads if a.array == first)
        summed = {d for d in self.total.sums}
        strip = {d for d in range(len(total.iterators))
                 for a in self.found.along if a == self.found.strip or a.result in self.found.batch
                 if step(total.index[a.sums], d) == 1}  # fmt: skip
        last = last_iterator(statement)
        outer = [d for d in _moved_by(read.relation, statement, strip) if d != last]
        blocks = [d for d in _moved_by(read.relation, statement, summed) if d != last]
        self._arrange(name, [*outer, *blocks])
        if not blocks:
            return
        at = self._loop(name, blocks[-1]).name
        for array in others:
            self.plan = self.plan.fuse(array, into=first, at=at)
        for array in others:
            self._arrange(self._written(array), [])

    def _arrange(self, name: str, outer: Sequence[int]) -> None:
        """A statement's own loops: some outside, cases and the vector's inside."""
        copy = self.plan.program.copies[name]
        last, case = last_iterator(copy.statement), self._case(name)
        dims = [d for loop in self.plan.program.places[name].loops
                if (d := dimension_of(self.plan.program, name, loop)) is not None
                and d >= copy.outer]  # fmt: skip
        own = [d - copy.outer for d in dims]
        middle = [d for d in own if d not in {*outer, last, case}]
        order = [*outer, *middle, *(d for d in (case, last) if d is not None and d not in outer)]
        self.plan = self.plan.reorder(*(self._loop(name, d).name for d in order))

    def _case(self, name: str) -> int | None:
        """The dimension whose values choose what a statement computes, where they are few."""
        statement = self._statement(name)
        tests = [n.where for n in walk(statement.value) if isinstance(n, Inside)]
        few = [
            d
            for d in range(len(statement.iterators))
            if any(t.involves_dims(dim_type.set, d, 1) for t in tests)
            and (_length(statement, d) or MOST_CASES + 1) <= MOST_CASES
        ]
        return few[-1] if few else None

    def _sums(self, strip: str) -> None:
        """The sums in tiles in registers, the places of a tile around its strip."""
        statement = self._statement(self.found.sum)
        start = next(n for n, c in self.plan.program.copies.items()
                     if c.statement.array == self.sums and c.statement is not statement)  # fmt: skip
        name = next(n for n, c in self.plan.program.copies.items() if c.statement is statement)
        path = self.plan.program.places[name].loops
        inside = path[[loop.name for loop in path].index(strip) + 1]
        if start in copies_in(inside):
            self.plan = self.plan.distribute(inside.name, at=name)
        sizes = {statement.iterators[d]: size for d, size in self.tile.sizes.items()}
        self.plan = self.plan.tile(name, **sizes)
        points = {d: self._loop(name, d).name for d in range(len(statement.iterators))}
        moving = {d for a in self.found.along if a.result == self.found.strip.result
                  for d in points if step(statement.index[a.sums], d) == 1}  # fmt: skip
        outside = [d for d in self.total.results if d not in moving]
        places = [d for d in outside if d not in self._along_results(statement)]
        others = [d for d in self.total.results if d not in places]
        weights = [d for d in others if any(o.is_vector and d in o.moves
                                            for o in self.total.operands)]  # fmt: skip
        order = [*places, *weights, *(d for d in others if d not in weights)]
        loops = [self._block_of(name, d) if d in self.tile.sizes else points[d] for d in order]
        tiled = [points[d] for d in self.total.results if d in self.tile.sizes]
        columns, sums = points[self.total.columns], [points[d] for d in self.total.sums]
        self.plan = self.plan.reorder(*loops, *sums, *tiled, columns)
        for loop in tiled:
            self.plan = self.plan.unroll(loop)
        self.plan = self.plan.vectorize(columns, self.total.lanes).register_tile(sums[0])

    def _along_results(self, statement: Statement) -> set[int]:
        """The dimensions of the sum that go with results, not with places in their tiles."""
        return {d for a in self.found.along for d in range(len(statement.iterators))
                if step(statement.index[a.sums], d) == 1}  # fmt: skip

    def _others(self) -> list[str]:
        """All statements but the sum."""
        own = self.plan.program.copies
        return [n for n in self.plan.program.places
                if own[n].statement is not self._statement(self.found.sum)]  # fmt: skip

    def _vectors(self, name: str) -> None:
        """Another statement in vectors along its last dimension, its cases written out."""
        statement = self._statement(name)
        last = last_iterator(statement)
        if last is None:
            return
        if statement.array in self.found.behind:
            dims = [k for k, a in enumerate(statement.iterators)]
            self._arrange(name, [])
            _ = dims
        if name == self.found.result:
            across = [a.result for a in self.found.along if a.tile > 1 and a != self.found.strip]
            for d in across:
                self.plan = self.plan.unroll(self._loop(name, d).name)
        else:
            case = self._case(name)
            if case is not None:
                self.plan = self.plan.unroll(self._loop(name, case).name)
        self.plan = self.plan.vectorize(self._loop(name, last).name)

    # -- what there is --------------------------------------------------------------------------

    def _statement(self, name: str) -> Statement:
        copies = self.plan.program.copies
        if name in copies:
            return copies[name].statement
        return self.plan.scop.statement(name)

    def _written(self, array: str) -> str:
        """The copy that writes an array last."""
        copies = self.plan.program.copies
        return [n for n in self.plan.program.places if copies[n].statement.array == array][-1]

    def _loop(self, name: str, dim: int) -> PlanLoop:
        """The loop whose value is a dimension of a copy's statement."""
        program = self.plan.program
        wanted = program.copies[name].outer + dim
        path = program.places[name].loops
        return next(n for n in path if dimension_of(program, name, n) == wanted)

    def _block_of(self, name: str, dim: int) -> str:
        """The innermost loop over blocks of a dimension."""
        program = self.plan.program
        wanted = program.copies[name].outer + dim
        return [
            n.name
            for n in program.places[name].loops
            if n.values[name].involves_dims(dim_type.in_, wanted, 1)
            and dimension_of(program, name, n) is None
        ][-1]


def _walks(line: Map, dim: int) -> bool:
    """Whether a subscript moves with a dimension element by element, and with no other."""
    from polyopt.isl import PwMultiAff

    form = PwMultiAff.from_map(line).get_pw_aff(0)
    return all(
        aff.get_coefficient_val(dim_type.in_, dim).is_one() for _, aff in form.get_pieces()
    )


def _moved_by(relation: Map, producer: Statement, dims: Collection[int]) -> list[int]:
    """The producer's dimensions that write what a reader's dimensions move."""
    link = relation.apply_range(producer.write.relation.reverse())
    found: list[int] = []
    for d in range(len(producer.iterators)):
        rank = link.dim(dim_type.out)
        line = link.project_out(dim_type.out, d + 1, rank - d - 1).project_out(dim_type.out, 0, d)
        line = line.gist_domain(line.domain())
        if any(line.involves_dims(dim_type.in_, k, 1) for k in dims):
            found.append(d)
    return found


def _length(statement: Statement, dim: int) -> int | None:
    first, last = statement.domain.dim_min(dim), statement.domain.dim_max(dim)
    size = constant_value(last.sub(first).gist_params(statement.domain.params()).coalesce())
    return size + 1 if size is not None else None
