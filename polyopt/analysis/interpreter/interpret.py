"""The slow oracle: runs a program's instances one by one, element by element."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from polyopt.analysis.interpreter.evaluate import compile_expr, poison
from polyopt.analysis.interpreter.run_block import run_block
from polyopt.analysis.sets.points import affine_values, holds, parameter_value, points
from polyopt.errors import ArgumentError, InternalError
from polyopt.ir.block import Block
from polyopt.ir.expr import Affine
from polyopt.isl import dim_type, fix_param_values, maps_of, tuple_name

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from polyopt.analysis.interpreter.evaluate import Compiled, Scalar
    from polyopt.analysis.sets.points import Rows
    from polyopt.ir.expr import Load
    from polyopt.ir.scop import Array, Scop, Statement
    from polyopt.isl import PwAff, Set, UnionMap


class Instance(NamedTuple):
    """One run of a statement; ``at`` is whatever else the storage depends on, such as a tile."""

    statement: str
    iterators: tuple[int, ...]
    at: Hashable = ()


class Cell(NamedTuple):
    """An element of an array, where the array has its own storage."""

    array: str
    subscripts: tuple[int, ...]


if TYPE_CHECKING:
    #: Where a reference (``S_w``, ``S_r0``, ...) keeps an element for an instance.
    CellOf = Callable[[str, Cell, Instance], Hashable]


@dataclass
class Memory:
    """What the cells hold: what was written, else what the caller gave, else poison.

    A ``Cell`` is an element of the array it names; any other key is storage of its own.
    """

    given: Mapping[str, np.ndarray]
    #: index of the first element per array, where it is not zero
    lower: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    written: dict[Hashable, Scalar] = field(default_factory=dict[Any, Any])

    def initial(self, cell: Hashable, otherwise: Scalar) -> Scalar:
        """The value of a cell before anything is written to it."""
        if not isinstance(cell, Cell) or cell.array not in self.given:
            return otherwise
        values = self.given[cell.array]
        found = values[self._position(cell, values.shape)]
        return found if values.dtype.kind == "f" else found.item()

    def result(self, array: str) -> np.ndarray:
        """The array's contents now, as a new array."""
        values = self.given[array].copy()
        for cell, value in self.written.items():
            if isinstance(cell, Cell) and cell.array == array:
                values[self._position(cell, values.shape)] = value
        return values

    def _position(self, cell: Cell, shape: tuple[int, ...]) -> tuple[int, ...]:
        low = self.lower.get(cell.array, (0,) * len(cell.subscripts))
        position = tuple(x - first for x, first in zip(cell.subscripts, low, strict=True))
        if not all(0 <= x < size for x, size in zip(position, shape, strict=True)):
            msg = f"{cell.array}[{', '.join(map(str, cell.subscripts))}] lies outside {cell.array}"
            raise ArgumentError(msg)
        return position


def interpret(
    scop: Scop, params: Mapping[str, int], arrays: Mapping[str, np.ndarray | float]
) -> dict[str, np.ndarray]:
    """Run the program in its source order; the arrays that it returns are new.

    ``arrays`` gives every ``in`` and ``inout`` array (and may give ``out`` arrays), by name.
    Temporaries and outputs not given start as poison. Raises ``ArgumentError`` for arrays that
    are missing or do not fit, and for what C leaves undefined.
    """
    memory = make_memory(scop, params, arrays)
    run_instances(scop, source_order(scop, params), params, memory)
    return {a.name: memory.result(a.name) for a in scop.arrays if a.is_live_out}


def make_memory(
    scop: Scop, params: Mapping[str, int], arrays: Mapping[str, np.ndarray | float]
) -> Memory:
    """The memory before the first instance runs. Raises ``ArgumentError``."""
    given = {a.name: _initial(a, params, arrays.get(a.name)) for a in scop.arrays}
    lower = {
        a.name: tuple(parameter_value(low, params) for low in a.lower)
        for a in scop.arrays
        if a.lower
    }
    return Memory(given, lower)


def _initial(
    array: Array, params: Mapping[str, int], value: np.ndarray | float | None
) -> np.ndarray:
    shape = tuple(max(0, parameter_value(extent, params)) for extent in array.extents)
    dtype = array.type.dtype
    if value is None or array.role == "temp":
        if array.is_live_in:
            msg = f"the array {array.name} is missing"
            raise ArgumentError(msg, span=array.span)
        return np.full(shape, poison(array.type), dtype)
    found = value if isinstance(value, np.ndarray) else np.asarray(value, dtype)
    if found.shape != shape or found.dtype != dtype:
        msg = f"{array.name} is {found.dtype} {found.shape}, not {dtype} {shape}"
        raise ArgumentError(msg, span=array.span)
    return found


def source_order(scop: Scop, params: Mapping[str, int]) -> list[Instance]:
    """All instances for the given sizes, in the order of the source."""
    return instances_in_order(scop.schedule, params)


def instances_in_order(schedule: UnionMap, params: Mapping[str, int]) -> list[Instance]:
    """The instances of ``{ S[i] -> [time] }`` (a function) for the given sizes, by time."""
    names: list[str] = []
    rows: list[Rows] = []
    times: list[Rows] = []
    for part in maps_of(schedule):
        fixed = fix_param_values(part.wrap(), params).unwrap()  # a function of few pieces, if any
        found = points(fixed.domain(), params)
        when = fixed.as_pw_multi_aff()
        columns = [
            affine_values(when.get_at(k), found, params) for k in range(part.dim(dim_type.out))
        ]
        names.append(tuple_name(part, dim_type.in_))
        rows.append(found)
        times.append(np.stack(columns, axis=1))
    if not names:
        return []
    order = np.lexsort(np.concatenate(times).T[::-1])
    everything = [
        Instance(name, tuple(row))
        for name, found in zip(names, rows, strict=True)
        for row in found.tolist()
    ]
    return [everything[k] for k in order.tolist()]


def run_instances(
    scop: Scop,
    instances: Iterable[Instance | tuple[str, tuple[int, ...]]],
    params: Mapping[str, int],
    memory: Memory,
    cell_of: CellOf | None = None,
) -> None:
    """Run statement instances in the order given; an instance may run more than once.

    ``cell_of(reference, element, instance)`` says where a transformed program keeps an element;
    without it every array has its own full storage. Changes ``memory`` and nothing else.
    """
    order: list[tuple[str, int]] = []
    groups: dict[str, list[Instance]] = {}
    for item in instances:
        instance = item if isinstance(item, Instance) else Instance(*item)
        group = groups.setdefault(instance.statement, [])
        order.append((instance.statement, len(group)))
        group.append(instance)
    with np.errstate(all="ignore"):
        runners = {
            name: _runner(scop, scop.statement(name), group, params, memory, cell_of)
            for name, group in groups.items()
        }
        for name, row in order:
            runners[name](row)


def _runner(
    scop: Scop,
    statement: Statement,
    group: list[Instance],
    params: Mapping[str, int],
    memory: Memory,
    cell_of: CellOf | None,
) -> Callable[[int], None]:
    leaves = _Batch(scop, statement, group, params, memory, cell_of)
    if isinstance(statement.value, Block):
        return run_block(statement.value, leaves, leaves.put)
    value = compile_expr(statement.value, leaves)
    targets = leaves.cells(statement.write.ref, statement.array, statement.index)
    written = memory.written
    if isinstance(targets, list):
        cells = targets

        def run(row: int) -> None:
            written[cells[row]] = value(row)

        return run
    msg = f"{statement.name} writes to an element that is not affine"
    raise InternalError(msg)


class _Batch:
    """The leaves of one statement for many instances: affine parts are computed at once."""

    def __init__(
        self,
        scop: Scop,
        statement: Statement,
        group: list[Instance],
        params: Mapping[str, int],
        memory: Memory,
        cell_of: CellOf | None,
    ) -> None:
        self.scop, self.statement, self.group = scop, statement, group
        self.params, self.memory, self.cell_of = params, memory, cell_of
        depth = len(statement.iterators)
        flat = [instance.iterators for instance in group]
        self.rows = np.array(flat, np.int64).reshape(len(flat), depth)
        self.references = 0
        self.locals: dict[str, Scalar] = {}

    def local(self, name: str) -> Compiled:
        return lambda _row: self.locals[name]

    def put(self, index: tuple[int, ...], row: int, value: Scalar) -> None:
        """Write an element of the statement's array."""
        statement = self.statement
        cell = self._place(statement.write.ref, Cell(statement.array, index), row)
        self.memory.written[cell] = value

    def affine(self, form: PwAff) -> Callable[[int], int]:
        return affine_values(form, self.rows, self.params).tolist().__getitem__

    def inside(self, where: Set) -> Callable[[int], bool]:
        return holds(where, self.rows, self.params).tolist().__getitem__

    def load(self, node: Load, index: tuple[Compiled, ...]) -> Compiled:
        ref = self.statement.reads[self.references].ref
        self.references += 1
        written, initial = self.memory.written.get, self.memory.initial
        nothing = poison(self.scop.array(node.array).type)
        cells = self.cells(ref, node.array, node.index)
        if cells is not None:
            known = cells

            def read(row: int) -> Scalar:
                found = written(known[row])
                return initial(known[row], nothing) if found is None else found

            return read

        def chase(row: int) -> Scalar:
            cell = self._place(ref, Cell(node.array, tuple(int(p(row)) for p in index)), row)
            found = written(cell)
            return initial(cell, nothing) if found is None else found

        return chase

    def cells(self, ref: str, array: str, index: tuple[object, ...]) -> list[Hashable] | None:
        """The cell per row where every subscript is affine, else ``None``."""
        forms = [part.form for part in index if isinstance(part, Affine)]
        if len(forms) != len(index):
            return None
        columns = [affine_values(form, self.rows, self.params).tolist() for form in forms]
        elements = zip(*columns, strict=True) if columns else [()] * len(self.group)
        return [self._place(ref, Cell(array, x), row) for row, x in enumerate(elements)]

    def _place(self, ref: str, cell: Cell, row: int) -> Hashable:
        return cell if self.cell_of is None else self.cell_of(ref, cell, self.group[row])
