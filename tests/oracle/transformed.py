"""An executor of plans that shares nothing with the proof: it runs a program's copies one by one.

Copies are enumerated for concrete sizes and sorted by their loops' values. Every access goes to
the storage of the plan: buffers private to an iteration, folded, cut to their extents, or an
inlined operand's own value. What a buffer holds before it is written is poison. Loops marked
parallel or vector run in an order that only independent iterations survive.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from polyopt.analysis.interpreter.interpret import (
    Cell,
    Instance,
    interpret,
    make_memory,
    run_instances,
    source_order,
)
from polyopt.analysis.sets.points import affine_values, parameter_value, points
from polyopt.isl import dim_type
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.tree import PlanLoop

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from polyopt.analysis.interpreter.interpret import Memory
    from polyopt.ir.scop import Scop, Statement
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.storage import Scratch
    from polyopt.transform.schedule.tree import ScheduledStatement


class Where(NamedTuple):
    """What an instance's storage depends on: its copy, all its dimensions, its host's loops."""

    copy: str
    dims: tuple[int, ...]
    host: str
    loops: tuple[int, ...]


class Event(NamedTuple):
    """A read of one element by one instance of the source."""

    statement: str
    iterators: tuple[int, ...]
    reference: str
    element: tuple[int, ...]


def run_plan(plan: Plan | ScheduledProgram, params, arrays) -> dict[str, np.ndarray]:
    """The outputs of a plan, whether it is legal or not, for concrete sizes and arrays."""
    machine = Machine(_program(plan), dict(params))
    memory = make_memory(machine.scop, params, arrays)
    machine.run(memory)
    return {a.name: memory.result(a.name) for a in machine.scop.arrays if a.is_live_out}


def sources_of_plan(plan: Plan | ScheduledProgram, params) -> dict[Event, set[tuple | None]]:
    """Which instances every read of a plan gets its value from; ``None`` is before them all.

    An instance that runs in several tiles reads several times, hence the sets. The last writer
    of each live-out element is the source of ``Event(array, (), "end", element)``.
    """
    machine = Machine(_program(plan), dict(params))
    return _trace(machine.scop, machine.instances, machine.cell_of, params, machine.filling)


def sources_of_source(scop: Scop, params) -> dict[Event, set[tuple | None]]:
    """Which instances every read of the source program gets its value from."""
    return _trace(scop, source_order(scop, params), lambda _ref, cell, _at: cell, params, {})


def _program(plan: Plan | ScheduledProgram) -> ScheduledProgram:
    return plan.program if isinstance(plan, Plan) else plan


@dataclass(frozen=True, eq=False)
class Machine:
    """A program at concrete sizes."""

    program: ScheduledProgram
    params: Mapping[str, int]

    @cached_property
    def scop(self) -> Scop:
        """The source with the copies' own statements (those that fill packs) added."""
        scop = self.program.scop
        known = {s.name for s in scop.statements}
        more = {c.statement.name: c.statement for c in self.program.copies.values()}
        added = tuple(s for name, s in more.items() if name not in known)
        return replace(scop, statements=(*scop.statements, *added))

    @cached_property
    def filling(self) -> dict[str, str]:
        """The statement names of packs, with the array each copies."""
        return {
            c.statement.name: c.statement.array for c in self.program.copies.values() if c.fills
        }

    def run(self, memory: Memory) -> None:
        """Run everything on ``memory``."""
        run_instances(self.scop, self.instances, self.params, memory, self.cell_of)

    @cached_property
    def leaves(self) -> dict[str, tuple[tuple[int, ...], tuple[PlanLoop, ...]]]:
        """Textual positions and loops of every copy in the tree."""
        found: dict[str, tuple[tuple[int, ...], tuple[PlanLoop, ...]]] = {}

        def walk(tree, positions, loops) -> None:
            for number, node in enumerate(tree):
                if isinstance(node, PlanLoop):
                    walk(node.body, (*positions, number), (*loops, node))
                else:
                    found[node] = ((*positions, number), loops)

        walk(self.program.tree, (), ())
        return found

    @cached_property
    def instances(self) -> list[Instance]:
        """Everything that runs, in the plan's order; operands just before who reads them."""
        timed: list[tuple[tuple[int, ...], Instance]] = []
        for name, (positions, loops) in self.leaves.items():
            copy = self.program.copies[name]
            rows = points(copy.domain.intersect_params(self.program.scop.context), self.params)
            values = [affine_values(loop.values[name], rows, self.params) for loop in loops]
            order = [
                part for v, loop in zip(values, loops, strict=True) for part in _order(v, loop)
            ]
            keys = [tuple(row) for row in _columns(order, len(rows))]
            inside = [tuple(row) for row in _columns(values, len(rows))]
            for key, dims, at in zip(keys, rows.tolist(), inside, strict=True):
                time = _interleaved(positions, key)
                where = Where(name, tuple(dims), name, at)
                timed.append(
                    (time, Instance(copy.statement.name, tuple(dims[copy.outer :]), where))
                )
        timed.sort(key=lambda pair: pair[0])
        return [run for _, instance in timed for run in self._with_operands(instance)]

    def _with_operands(self, instance: Instance) -> Iterator[Instance]:
        yield from self._operands_of(self.program.copies[instance.at.copy], instance.at)
        yield instance

    def _operands_of(self, copy: ScheduledStatement, at: Where) -> Iterator[Instance]:
        for operand in self._inlined(copy):
            for dims in self._tails(operand).get(at.dims, ()):
                where = Where(operand.name, (*at.dims, *dims), at.host, at.loops)
                yield from self._operands_of(operand, where)
                yield Instance(operand.statement.name, dims, where)

    def _inlined(self, copy: ScheduledStatement) -> list[ScheduledStatement]:
        found = (self.program.operand(copy, access) for access in copy.statement.reads)
        return [operand for operand in found if operand is not None]

    @cached_property
    def _tail_tables(self) -> dict[str, dict[tuple[int, ...], list[tuple[int, ...]]]]:
        return {}

    def _tails(self, operand: ScheduledStatement) -> dict[tuple[int, ...], list[tuple[int, ...]]]:
        """The operand's own iterators per dimensions of who reads it."""
        if operand.name not in self._tail_tables:
            table: dict[tuple[int, ...], list[tuple[int, ...]]] = defaultdict(list)
            for row in points(operand.domain, self.params).tolist():
                table[tuple(row[: operand.outer])].append(tuple(row[operand.outer :]))
            self._tail_tables[operand.name] = table
        return self._tail_tables[operand.name]

    def cell_of(self, reference: str, cell: Cell, instance: Instance) -> Hashable:
        """Where the plan keeps an element for an access of an instance."""
        at: Where = instance.at
        writing = reference.endswith("_w")
        if cell.array in self.program.inlined:
            if writing:
                outer = len(at.dims) - len(instance.iterators)
                return ("operand", at.copy, at.dims[:outer], cell.subscripts)
            return ("operand", f"{at.copy}/{reference}", at.dims, cell.subscripts)
        scratch = self._buffer(at, cell.array, writing=writing)
        if scratch is None:
            return cell
        return self._place(scratch, cell.subscripts, at.loops[: scratch.depth])

    def _buffer(self, at: Where, array: str, *, writing: bool) -> Scratch | None:
        """The innermost buffer of an array around a copy."""
        around = ["", *(loop.name for loop in self.leaves[at.host][1])]
        host = self.program.copies[at.host]
        own = "" if writing else host.fills
        fitting = [
            s
            for wish, s in zip(self.program.stores, self.program.scratches, strict=True)
            if s.array == array and s.at in around and wish.within in around and s.name != own
        ]
        return max(fitting, key=lambda s: around.index(s.at), default=None)

    def _place(
        self, scratch: Scratch, subscripts: tuple[int, ...], loops: tuple[int, ...]
    ) -> Hashable:
        """The cell in C's layout: an index too large runs into the next row, then out."""
        offsets, extents = self._layout(scratch, loops)
        flat, total = 0, 1
        for dimension, (x, first, extent) in enumerate(
            zip(subscripts, offsets, extents, strict=True)
        ):
            fold = scratch.fold(dimension)
            index = x % fold if fold else (x - first) // scratch.stride(dimension)
            flat = flat * extent + index
            total *= extent
        if 0 <= flat < total:
            return (scratch.name, loops, flat)
        return object()  # nowhere: what is written there is not found again

    @cached_property
    def _layouts(self) -> dict[tuple[str, tuple[int, ...]], tuple[list[int], list[int]]]:
        return {}

    def _layout(self, scratch: Scratch, loops: tuple[int, ...]) -> tuple[list[int], list[int]]:
        key = (scratch.name, loops)
        if key not in self._layouts:
            row = np.array([loops], np.int64).reshape(1, len(loops))
            offsets = [int(affine_values(o, row, self.params)[0]) for o in scratch.offsets]
            extents = [parameter_value(e, self.params) for e in scratch.extents]
            self._layouts[key] = offsets, extents
        return self._layouts[key]


def _order(values: np.ndarray, loop: PlanLoop) -> list[np.ndarray]:
    """When iterations run: a parallel loop backwards, a vector loop's lanes backwards."""
    if loop.mark == "vector" and loop.width:
        return [values // loop.width, -values]
    if loop.mark in {"parallel", "vector"}:
        return [-values, np.zeros_like(values)]
    return [values, np.zeros_like(values)]


def _columns(columns: list[np.ndarray], count: int) -> list[list[int]]:
    if not columns:
        return [[] for _ in range(count)]
    return np.stack(columns, axis=1).tolist()


def _interleaved(positions: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    """``(position, value, lane, position, value, lane, ..., position)``."""
    time: list[int] = []
    for level in range(len(positions) - 1):
        time += [positions[level], *key[2 * level : 2 * level + 2]]
    return (*time, positions[-1])


def _trace(scop: Scop, instances, cell_of, params, filling) -> dict[Event, set[tuple | None]]:
    """Run for who wrote what instead of for values. A pack passes on what it copies."""
    touched = {s.name: _elements(s, params) for s in scop.statements}
    owner: dict[Hashable, tuple | None] = {}
    found: dict[Event, set[tuple | None]] = defaultdict(set)
    for instance in instances:
        statement = scop.statement(instance.statement)
        reads, writes = touched[statement.name]
        copied = None
        for reference, array, element in reads[instance.iterators]:
            source = owner.get(cell_of(reference, Cell(array, element), instance))
            if statement.name in filling:
                copied = source
            else:
                found[Event(statement.name, instance.iterators, reference, element)].add(source)
        for reference, array, element in writes[instance.iterators]:
            place = cell_of(reference, Cell(array, element), instance)
            owner[place] = (
                copied if statement.name in filling else (instance.statement, instance.iterators)
            )
    for array in scop.arrays:
        if array.is_live_out:
            for element in map(tuple, points(array.elements(scop.params), params).tolist()):
                found[Event(array.name, (), "end", element)].add(
                    owner.get(Cell(array.name, element))
                )
    return dict(found)


def _elements(statement: Statement, params):
    """Per instance: what it reads and what it writes, as ``(reference, array, element)``."""
    tables = []
    for accesses in (statement.reads, (statement.write,)):
        table = defaultdict(list)
        for access in accesses:
            depth = access.relation.dim(dim_type.in_)
            for row in points(access.relation.wrap().flatten(), params).tolist():
                table[tuple(row[:depth])].append((access.ref, access.array, tuple(row[depth:])))
        tables.append(table)
    return tables


class Touched(NamedTuple):
    """The elements that an instance reads and writes."""

    reads: frozenset[tuple[str, tuple[int, ...]]]
    writes: frozenset[tuple[str, tuple[int, ...]]]


def touched(scop: Scop, params) -> dict[tuple[str, tuple[int, ...]], Touched]:
    """What every instance of the source touches, by statement and iterators."""
    found = {}
    for statement in scop.statements:
        reads, writes = _elements(statement, params)
        for iterators in map(tuple, points(statement.domain, params).tolist()):
            found[statement.name, iterators] = Touched(
                frozenset((array, element) for _, array, element in reads[iterators]),
                frozenset((array, element) for _, array, element in writes[iterators]),
            )
    return found


def random_arrays(scop: Scop, params, seed: int = 0) -> dict[str, np.ndarray]:
    """Contents for every array that the caller gives: whole numbers, so that sums are exact.

    Outputs get some too: what a plan must not change is then seen to stay.
    """
    rng = np.random.default_rng(seed)
    arrays = {}
    for array in scop.arrays:
        if array.role != "temp":
            shape = [parameter_value(extent, params) for extent in array.extents]
            arrays[array.name] = rng.integers(1, 100, shape).astype(array.type.numpy_name)
    return arrays


def assert_right(plan: Plan, *sizes: dict[str, int]) -> None:
    """Fail unless a plan computes what its source does, at each of the sizes."""
    for params in sizes:
        arrays = random_arrays(plan.scop, params)
        expected, actual = interpret(plan.scop, params, arrays), run_plan(plan, params, arrays)
        assert sorted(expected) == sorted(actual)
        for name, values in expected.items():
            np.testing.assert_array_equal(actual[name], values, err_msg=f"{name} at {params}")
