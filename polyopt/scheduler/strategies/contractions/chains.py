"""Chains of contractions, such as attention, fused in tiles of vectors of the results.

Where one contraction's results come, through elements and reductions, into another contraction, the
arrays between are as large as rows times columns, and pass through memory. Where they all have the
same dimension last, a tile of a few vectors along it holds all that these results need: each
statement is computed for the tile, in vectors along it, and keeps the order of its sums.

rewrite: ``S[j][i] = sum_d ..; m[i] = max_j ..; E[j][i] = ..; O[d][i] = sum_j ..; R[i][d] = f(O);``
-> ``for (i_tile) { s = ..; m = ..; e = ..; o = ..; R[i][d] = f(o); }`` with all rows ``j`` of two
vectors of ``i`` in tiles.

*Does not handle* contractions whose sums or rows are short, and chains into several results.
(Output-driven fusion; for attention: T. Dao et al., "FlashAttention", 2022, which tiles the rows
``j`` too.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.errors import IllegalScheduleError, UserError
from polyopt.isl import Map, constant_value, dim_type
from polyopt.scheduler.queries import is_ready, last_iterator, producers_of
from polyopt.scheduler.strategies.contractions.matmul import VECTORS, contraction_of, most_rows
from polyopt.scheduler.strategies.contractions.nests import block_loop, isolated, point_loop
from polyopt.scheduler.subscripts import dimension_of, step, steps_of_read
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import copies_in

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Statement
    from polyopt.isl import Set
    from polyopt.scheduler.strategies.contractions.matmul import Contraction
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram


@dataclass(frozen=True)
class _Chain:
    """The contractions, the statement that writes the results, and its iterators by role."""

    contractions: Mapping[str, Contraction]
    result: str
    columns: str
    #: that all arrays between have as well: a tile is of one iteration of each
    batch: tuple[str, ...]
    #: the contractions' arrays, and what is computed from them for the result
    between: frozenset[str]


def contraction_chains(
    plan: Plan, target: Target, sizes: Mapping[str, int]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with a chain of contractions in tiles, where the program is one."""
    found = _chain(plan.program, sizes)
    if found is None:
        return plan, ()
    array = plan.program.copies[found.result].statement.array
    try:
        tiles = _Tiles(plan, target, found)
        made = tiles.made()
        made.prove()
    except UserError as error:
        reason = f"not in one tile with what it is made of: {error.diagnostic.message}"
        witnesses = error.witnesses if isinstance(error, IllegalScheduleError) else ()
        remark = Remark("refused", "fuse", array, reason, witnesses=witnesses, code=error.code)
        return plan, (remark,)
    numbers = {"columns": float(tiles.width), "contractions": float(len(found.contractions))}
    reason = "each tile computes the contractions that it needs, in vectors along it"
    return made, (Remark("applied", "fuse", array, reason, numbers=numbers),)


def _chain(program: ScheduledProgram, sizes: Mapping[str, int]) -> _Chain | None:
    sums = {n: c for n in program.places if (c := contraction_of(program, n, sizes)) is not None}
    written = {program.copies[name].statement.array: name for name in program.places}
    results = [a.name for a in program.scop.arrays if a.is_live_out and a.name in written]
    if len(sums) < 2 or len(results) != 1:
        return None
    result = written[results[0]]
    between = _after(program, {_array(program, name) for name in sums}) - {results[0]}
    ends = [name for name in sums if _reads(program, result, _array(program, name))]
    first = {_array(program, name) for name in sums} - {_array(program, n) for n in ends}
    if result in sums or len(ends) != 1 or not _is_along(program, written, between):
        return None
    if _array(program, ends[0]) not in _after(program, first):
        return None
    return _roles(program, sums, result, ends[0], frozenset(between))


def _roles(
    program: ScheduledProgram,
    sums: Mapping[str, Contraction],
    result: str,
    end: str,
    between: frozenset[str],
) -> _Chain | None:
    """The result's iterators by what they are in the last contraction."""
    last = program.copies[end].statement
    subscripts = steps_of_read(program, result, last.array)
    if subscripts is None:
        return None
    roles: dict[str, int] = {}
    for steps, of_last in zip(subscripts, last.index, strict=True):
        moved = [d for d in range(len(last.iterators)) if step(of_last, d) == 1]
        if not steps:  # of length one
            continue
        if len(moved) != 1 or len(steps) != 1:
            return None
        ((mine, by),) = steps.items()
        roles[program.copies[result].statement.iterators[mine]] = moved[0] if by == 1 else -1
    found = sums[end]
    columns = [name for name, d in roles.items() if d == found.columns]
    batch = tuple(n for n, d in roles.items() if d not in {found.columns, found.rows})
    if len(columns) != 1 or -1 in roles.values():
        return None
    return _Chain(sums, result, columns[0], batch, between)


def _array(program: ScheduledProgram, name: str) -> str:
    return program.copies[name].statement.array


def _reads(program: ScheduledProgram, name: str, array: str) -> bool:
    return array in program.arrays_read(name)


def _after(program: ScheduledProgram, arrays: set[str]) -> set[str]:
    """Arrays, and all that are computed from them."""
    found = set(arrays)
    while True:
        more = {_array(program, n) for n in program.places if found & set(program.arrays_read(n))}
        if more <= found:
            return found
        found |= more


def _is_along(
    program: ScheduledProgram, written: Mapping[str, str], between: Collection[str]
) -> bool:
    """Whether arrays are temporary, and have a dimension last that a loop walks."""
    return all(
        program.scop.array(array).role == "temp"
        and last_iterator(program.copies[written[array]].statement) is not None
        for array in between
    )


class _Tiles:
    """Makes the plan of one chain, in steps."""

    def __init__(self, plan: Plan, target: Target, found: _Chain) -> None:
        self.plan = plan
        self.found = found
        size = plan.program.copies[found.result].statement.value.type.bytes
        self.lanes = target.lanes(size)
        self.width = VECTORS * self.lanes
        self.most = most_rows(target)
        self.array = _array(plan.program, found.result)

    def made(self) -> Plan:
        """The plan."""
        plan, found = self.plan.program, self.found
        sizes = {**dict.fromkeys(found.batch, 1), found.columns: self.width}
        self.plan = self.plan.tile(self.array, **sizes)
        inside = {self.array}
        while ready := [
            array
            for array in producers_of(self.plan.program, inside)
            if array in found.between and is_ready(self.plan.program, array, inside)
        ]:
            self.plan = self.plan.fuse(ready[0], into=self.array)
            inside.add(ready[0])
        self._check(inside)
        tile = self._tile_loop()
        self._pack_columns(tile)
        known = {plan.copies[n].statement.name: c for n, c in found.contractions.items()}
        for name in [n for n, c in self.plan.program.copies.items() if c.outer and not c.fills]:
            contraction = known.get(self._statement(name).name)
            if contraction is not None:
                self._block(name, contraction)
            elif name in self.plan.program.places:
                self._vectors(name)
        return self.plan

    def _check(self, inside: Collection[str]) -> None:
        """Raises ``IllegalScheduleError`` unless all that lies between is in the tile, and each
        buffer as wide as it."""
        for array in sorted(self.found.between.difference(inside)):
            raise IllegalScheduleError(f"{array} has readers outside")
        for scratch in self.plan.program.scratches:
            last = constant_value(scratch.extents[-1]) if scratch.extents else None
            if last != self.width:
                message = f"{scratch.array} has {last} elements along the vectors of a tile"
                raise IllegalScheduleError(message)

    def _tile_loop(self) -> str:
        """The innermost loop over tiles."""
        loops = self.plan.program.places[self.found.result].loops
        return [n.name for n in loops if len(copies_in(n)) > 1][-1]

    def _statement(self, name: str) -> Statement:
        return self.plan.program.copies[name].statement

    def _pack_columns(self, tile: str) -> None:
        """Operands that move along the tile in another dimension than their last are transposed."""
        known = set[tuple[str, int]]()
        program = self.plan.program
        for name, place in program.places.items():
            columns = last_iterator(self._statement(name))
            if not program.copies[name].outer or columns is None or not place.loops:
                continue
            wanted = program.copies[name].outer + columns
            for array in program.arrays_read(name):
                steps = steps_of_read(program, name, array) or ()
                moved = [d for d, by in enumerate(steps) if wanted in by]
                if array not in self.found.between and len(moved) == 1:
                    known |= {(array, moved[0])} if moved[0] != len(steps) - 1 else set()
        for array, dimension in sorted(known):
            rank = self.plan.scop.array(array).rank
            order = (*(d for d in range(rank) if d != dimension), dimension)
            self.plan = self.plan.pack(array, at=tile, order=order)

    def _block(self, name: str, found: Contraction) -> None:
        """A contraction in blocks of rows in registers."""
        size, is_whole = self._rows(name, found)
        self.plan = isolated(self.plan, name, {found.rows, found.columns, found.sum})
        iterator = self._statement(name).iterators[found.rows]
        self.plan = self.plan.tile(name, **{iterator: size})
        block = block_loop(self.plan.program, name, found.rows)
        roles = (found.sum, found.rows, found.columns)
        inner = [point_loop(self.plan.program, name, d).name for d in roles]
        self.plan = self.plan.reorder(block, *inner)
        if not is_whole:  # the last block reads behind the last row
            for array in self._operands_of_rows(name, found):
                self.plan = self.plan.pack(array, at=block)
        self.plan = (
            self.plan.unroll(inner[1]).vectorize(inner[2], self.lanes).register_tile(inner[0])
        )

    def _operands_of_rows(self, name: str, found: Contraction) -> list[str]:
        """Arrays outside the tile that move with the rows and not with the columns, themselves or
        through what is computed in the statement."""
        program, outer = self.plan.program, self.plan.program.copies[name].outer
        arrays: list[str] = []
        for array in program.arrays_read(name):
            moving = set[int]().union(*(steps_of_read(program, name, array) or ()))
            is_by_row = outer + found.rows in moving and outer + found.columns not in moving
            if is_by_row and array not in self.found.between:
                arrays.append(array)
        return arrays

    def _rows(self, name: str, found: Contraction) -> tuple[int, bool]:
        """How many rows are in a block, and whether all blocks are whole: as they are where one
        of the larger sizes divides the rows."""
        copy = self.plan.program.copies[name]
        for size in range(self.most, self.most * 2 // 3 - 1, -1):
            if _is_whole(copy.domain, copy.outer + found.rows, size):
                return size, True
        return self.most * 2 // 3, False

    def _vectors(self, name: str) -> None:
        """Another statement with the tile's dimension innermost, in vectors."""
        columns = last_iterator(self._statement(name))
        if columns is None:
            return
        path = self.plan.program.places[name].loops
        dims = [dimension_of(self.plan.program, name, loop) for loop in path]
        outer = self.plan.program.copies[name].outer
        own = {d - outer for d in dims if d is not None and d >= outer}
        self.plan = isolated(self.plan, name, own)
        last = point_loop(self.plan.program, name, columns)
        path = self.plan.program.places[name].loops
        behind = [loop.name for loop in path[path.index(last) + 1 :]]
        if behind:
            self.plan = self.plan.reorder(*behind, last.name)
        self.plan = self.plan.vectorize(last.name)


def _is_whole(domain: Set, dim: int, size: int) -> bool:
    """Whether a set has all or nothing of each block of so many values of a dimension."""
    rank = domain.dim(dim_type.set)
    here, there = ([f"{mark}{d}" for d in range(rank)] for mark in "ab")
    same = [f"a{d} = b{d}" for d in range(rank) if d != dim]
    block = " and ".join([*same, f"floor(a{dim}/{size}) = floor(b{dim}/{size})"])
    # { [a] -> [b] : b is in the block of a }
    relation = Map(f"{{ [{', '.join(here)}] -> [{', '.join(there)}] : {block} }}")
    plain = domain.reset_tuple_id()
    return plain.apply(relation).is_subset(plain)
