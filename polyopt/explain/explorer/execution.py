"""A plan run on paper: its instances in the order of its schedule, and the memory they access.

Loops that are marked parallel are taken in order, by one core.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from polyopt.analysis.sets.count import about
from polyopt.analysis.sets.points import affine_values, parameter_value, points
from polyopt.errors import InvalidOptionError
from polyopt.isl import dim_type, fix_param_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from polyopt.analysis.sets.points import Rows
    from polyopt.ir.scop import Array
    from polyopt.isl import PwAff
    from polyopt.transform.schedule.program import ScheduledAccess, ScheduledProgram
    from polyopt.transform.schedule.tree import SchedulePosition

#: instances that are followed at most: as many as a browser draws and plays at ease
MOST_INSTANCES = 6000


@dataclass(frozen=True, eq=False)
class Instances:
    """What a copy of a statement runs, in the order in which the plan runs it."""

    copy: str
    #: one row per instance, a column per dimension of the copy
    rows: Rows
    #: loops around it from the outside in -> their values, one per instance
    loops: Mapping[str, NDArray[np.int64]]
    #: for each instance, how many of the program run before it
    steps: NDArray[np.int64]


@dataclass(frozen=True)
class Buffer:
    """Memory that accesses go to: an array of the program, or a buffer of the plan."""

    name: str
    shape: tuple[int, ...]
    #: bytes of an element; where it begins, in bytes
    element: int
    start: int
    #: the array whose elements it holds
    array: str

    @property
    def bytes(self) -> int:
        """Its size."""
        return self.element * int(np.prod(self.shape, dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Execution:
    """The instances of a plan in order, for given sizes."""

    program: ScheduledProgram
    sizes: Mapping[str, int]
    instances: tuple[Instances, ...]

    @property
    def length(self) -> int:
        """How many instances there are in all."""
        return sum(len(found.steps) for found in self.instances)

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """For each step, the position of its copy in ``instances``."""
        order = np.zeros(self.length, np.int64)
        for number, found in enumerate(self.instances):
            order[found.steps] = number
        return order

    @cached_property
    def memory(self) -> tuple[Buffer, ...]:
        """Arrays and buffers one after the other, each on a boundary of 64 bytes.

        What one register holds is none; a buffer private to each iteration is one buffer.
        """
        program = self.program
        touched = [*program.reads, *program.writes]
        arrays = dict.fromkeys(t.access.array for t in touched if t.scratch is None)
        scratches = {t.scratch.name: t.scratch for t in touched if t.scratch is not None}
        every: list[tuple[str, tuple[int, ...], Array]] = []
        for name in arrays:
            array = program.scop.array(name)
            if not _is_register(array):
                every.append((name, self._shape(array.extents), array))
        for scratch in scratches.values():
            shape = scratch.ordered(self._shape(scratch.extents))
            if max(shape, default=1) > 1:
                every.append((scratch.name, shape, program.scop.array(scratch.array)))
        found: list[Buffer] = []
        start = 0
        for name, shape, array in every:
            found.append(Buffer(name, shape, array.type.bytes, start, array.name))
            start += -(-found[-1].bytes // 64) * 64
        return tuple(found)

    def _shape(self, extents: Sequence[PwAff]) -> tuple[int, ...]:
        return tuple(max(1, parameter_value(extent, self.sizes)) for extent in extents)

    def accesses(self) -> list[list[int]]:
        """For each step, the addresses that it reads and then writes, in bytes."""
        found: list[list[int]] = [[] for _ in range(self.length)]
        where = {buffer.name: buffer for buffer in self.memory}
        steps = {i.copy: {tuple(r): s for r, s in _numbered(i)} for i in self.instances}
        for touch in (*self.program.reads, *self.program.writes):
            name = touch.scratch.name if touch.scratch is not None else touch.access.array
            if name not in where:
                continue
            for instance, address in self._addresses(touch, where[name]):
                found[steps[touch.host][instance]].append(address)
        return found

    def _addresses(
        self, touch: ScheduledAccess, buffer: Buffer
    ) -> Iterator[tuple[tuple[int, ...], int]]:
        """The instance and the address of each access."""
        cells = touch.at_host.reverse().apply_range(touch.cells)
        rank = cells.dim(dim_type.in_)
        rows = points(fix_param_values(cells.wrap().flatten(), self.sizes), self.sizes)
        index = rows[:, rank + (touch.scratch.depth if touch.scratch is not None else 0) :]
        offset = np.zeros(len(rows), np.int64)
        columns = [index[:, d] - low for d, low in enumerate(self._lower(touch))]
        ordered = columns if touch.scratch is None else touch.scratch.ordered(columns)
        for column, extent in zip(ordered, buffer.shape, strict=True):
            offset = offset * extent + column
        addresses = buffer.start + offset * buffer.element
        for instance, address in zip(rows[:, :rank].tolist(), addresses.tolist(), strict=True):
            yield tuple(instance), address

    def _lower(self, touch: ScheduledAccess) -> list[int]:
        """The first index of each dimension."""
        array = self.program.scop.array(touch.access.array)
        if touch.scratch is not None or not array.lower:
            return [0] * array.rank
        return [parameter_value(low, self.sizes) for low in array.lower]


def _is_register(array: Array) -> bool:
    """Whether an array is one value of a thread, which compilers keep in a register."""
    return array.role == "temp" and array.rank == array.private


def _numbered(found: Instances) -> Iterator[tuple[list[int], int]]:
    return zip(found.rows.tolist(), found.steps.tolist(), strict=True)


def execute(program: ScheduledProgram, sizes: Mapping[str, int]) -> Execution:
    """The instances of a program in the order of its schedule, for given sizes.

    Raises ``InvalidOptionError`` where there are more than ``MOST_INSTANCES``.
    """
    domains = {
        name: fix_param_values(program.copies[name].domain, sizes) for name in program.places
    }
    total = sum(about(domain, sizes) for domain in domains.values())
    if total > MOST_INSTANCES:
        message = f"{program.scop.name} has {total:,} instances to follow; {MOST_INSTANCES:,} "
        raise InvalidOptionError(f"{message}are the most", hint="give smaller sizes to draw")
    found = [
        _instances(place, points(domains[name], sizes), sizes)
        for name, place in program.places.items()
    ]
    times = [_times(program, part, program.places[part.copy]) for part in found]
    ranked = _ranks(times)
    return Execution(program, sizes, tuple(map(_sorted, found, ranked)))


def _instances(place: SchedulePosition, rows: Rows, sizes: Mapping[str, int]) -> Instances:
    loops = {n.name: affine_values(n.values[place.copy], rows, sizes) for n in place.loops}
    return Instances(place.copy, rows, loops, np.zeros(0, np.int64))


def _times(program: ScheduledProgram, part: Instances, place: SchedulePosition) -> Rows:
    """One row per instance: position, value, position, ..., as long as the deepest nest needs."""
    deepest = max(len(p.loops) for p in program.places.values())
    times = np.zeros((len(part.rows), 2 * deepest + 1), np.int64)
    for level, position in enumerate(place.positions):
        times[:, 2 * level] = position
    for level, values in enumerate(part.loops.values()):
        times[:, 2 * level + 1] = values
    return times


def _ranks(times: Sequence[Rows]) -> list[NDArray[np.int64]]:
    """For each instance, how many of all run before it."""
    every = np.concatenate(times)
    order = np.lexsort(every.T[::-1])
    ranks = np.empty(len(every), np.int64)
    ranks[order] = np.arange(len(every))
    ends = np.cumsum([len(part) for part in times])[:-1]
    return list(np.split(ranks, ends))


def _sorted(part: Instances, ranks: NDArray[np.int64]) -> Instances:
    order = np.argsort(ranks)
    loops = {name: values[order] for name, values in part.loops.items()}
    return Instances(part.copy, part.rows[order], loops, ranks[order])
