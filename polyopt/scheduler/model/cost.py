"""What a plan costs before anything runs: work repeated, storage, bytes moved, parallelism.

Numbers of instances are exact, or marked as estimates where an exact one takes too long. Bytes
moved and times are the estimates of ``model/cache.py`` and ``model/time.py``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import Estimate, Number, counted
from polyopt.analysis.sets.points import parameter_value
from polyopt.codegen.target import target as find_target
from polyopt.ir.expr import Affine, Cast, Const, Inside, Load
from polyopt.memo import memo
from polyopt.oneline import at_sizes, one_line
from polyopt.scheduler.model.cache import Traffic, array_bytes
from polyopt.scheduler.model.instances import evaluated, number_of, trips, with_operands
from polyopt.scheduler.model.time import Prediction, predict
from polyopt.transform.schedule.identity import source_program
from polyopt.transform.schedule.query import shared_from
from polyopt.transform.schedule.tree import copies_in, loops_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.codegen.target import Target
    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Scop
    from polyopt.transform.schedule.program import ScheduledProgram

    _Sizes = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ScratchCost:
    """One buffer: its bytes per thread and the smallest cache that holds it."""

    name: str
    array: str
    #: the loop per iteration of which it is private; "" is the whole program
    at: str
    extents: tuple[int, ...]
    bytes: int
    #: "register", "L1", "L2" or "memory"
    fits: str


@dataclass(frozen=True)
class Cost:
    """The bill of a program for given sizes, beside that of its source.

    All byte counts are for the whole program unless they say otherwise.
    """

    program: str
    sizes: Mapping[str, int]
    target: Target
    #: statement -> instances in the source
    source_instances: Mapping[str, int]
    #: copy (or inlined operand's statement) -> instances in the plan
    copy_instances: Mapping[str, int]
    #: statement -> instances in the plan, over all copies and inlined evaluations
    instances: Mapping[str, int]
    #: statement -> arithmetic operations of one instance
    operations_each: Mapping[str, int]
    #: statement -> the array it writes
    writes: Mapping[str, str]
    scratch: tuple[ScratchCost, ...]
    live_in_bytes: int
    live_out_bytes: int
    #: temporary array -> its bytes, where it is stored in full
    stored: Mapping[str, int]
    #: level ("L2": what L1 misses; "memory": what L2 misses) -> array -> bytes
    moved: Mapping[str, Mapping[str, int]]
    #: the same for the source program
    source_moved: Mapping[str, Mapping[str, int]]
    #: parallel loop -> iterations
    parallel: Mapping[str, int]
    #: the program itself
    scheduled: ScheduledProgram = field(repr=False, compare=False)
    #: the statements, copies and parallel loops that have too many instances for an exact number
    estimated: frozenset[str] = frozenset()
    #: the same of the source's statements
    source_estimated: frozenset[str] = frozenset()

    @cached_property
    def time(self) -> Prediction:
        """How long a call takes on all cores of the target."""
        return predict(self.scheduled, self.sizes, self.target, self.target.cores)

    @cached_property
    def source_time(self) -> Prediction:
        """How long one takes in the source's own order."""
        return _source_time(self.scheduled.scop, tuple(self.sizes.items()), self.target)

    @property
    def is_exact(self) -> bool:
        """Whether all instances of the plan are counted; else some are ``estimated``."""
        return self.estimated.isdisjoint(self.instances)

    @property
    def operations(self) -> int:
        """Arithmetic operations in all."""
        return sum(n * self.operations_each[s] for s, n in self.instances.items())

    @property
    def source_operations(self) -> int:
        """Arithmetic operations of the source."""
        return sum(n * self.operations_each[s] for s, n in self.source_instances.items())

    @property
    def work_repeated(self) -> float:
        """Operations over those of the source: 1.0 repeats nothing.

        Where the source computes nothing (it copies), instances count instead.
        """
        if self.source_operations:
            found = self.operations / self.source_operations
        else:
            found = sum(self.instances.values()) / max(1, sum(self.source_instances.values()))
        return Estimate(found) if self.source_estimated or not self.is_exact else found

    @cached_property
    def repeated(self) -> Mapping[str, float]:
        """Instances over those of the source, per array written."""
        source, plan = Counter[str](), Counter[str]()
        for statement, array in self.writes.items():
            source[array] += self.source_instances[statement]
            plan[array] += self.instances.get(statement, 0)
        found = {array: plan[array] / source[array] for array in source if source[array]}
        either = self.estimated | self.source_estimated
        guessed = {array for statement, array in self.writes.items() if statement in either}
        return {a: Estimate(times) if a in guessed else times for a, times in found.items()}

    @property
    def scratch_bytes(self) -> int:
        """Bytes of all buffers of one thread."""
        return sum(s.bytes for s in self.scratch)

    @property
    def compulsory_bytes(self) -> int:
        """Inputs once and results once: no plan moves less."""
        return self.live_in_bytes + self.live_out_bytes

    @property
    def intermediate_bytes(self) -> int:
        """Temporary arrays stored in full."""
        return sum(self.stored.values())

    @property
    def bytes_moved(self) -> int:
        """Bytes from and to memory."""
        return sum(self.moved["memory"].values())

    @property
    def source_bytes_moved(self) -> int:
        """Bytes from and to memory that the source would move."""
        return sum(self.source_moved["memory"].values())

    @property
    def bytes_saved(self) -> int:
        """Bytes to and from memory less than in the source program."""
        return self.source_bytes_moved - self.bytes_moved

    @property
    def parallel_tiles(self) -> int:
        """Iterations that threads can share, in the nest that has the fewest; 1 without any."""
        return min(self.parallel.values(), default=1)

    @property
    def intensity(self) -> float:
        """Operations per byte from or to memory."""
        return self.operations / max(1, self.bytes_moved)

    def __repr__(self) -> str:
        """The program, its operations and its traffic."""
        operations = f"{'~' * (not self.is_exact)}{self.operations:,} operations"
        moved = f"{self.bytes_moved:,} bytes moved"
        return one_line(self, at_sizes(self.program, self.sizes), operations, moved)

    def __str__(self) -> str:
        """A table of at most 80 columns."""
        from polyopt.scheduler.model.table import table

        return table(self)

    def _repr_html_(self) -> str:
        from polyopt.explain.jupyter import cost_html

        return cost_html(self)


def cost(
    program: ScheduledProgram, sizes: Mapping[str, int], target: str | Target | None = None
) -> Cost:
    """The bill of a program for parameter values ``sizes`` (all of them).

    Raises ``InvalidOptionError`` for an unknown target.
    """
    machine = find_target(target or "native")
    scop = program.scop
    numbers = tuple((name, int(sizes[name])) for name in scop.params if name in sizes)
    by_copy, by_statement = _instances(program, numbers)
    source = _source_instances(scop, numbers)
    shared = _parallel(program, dict(numbers))
    traffic = Traffic(program, dict(numbers))
    levels = {"L2": machine.l1_bytes, "memory": machine.l2_bytes}
    return Cost(
        program=scop.name,
        sizes=dict(numbers),
        target=machine,
        source_instances={name: number.value for name, number in source.items()},
        copy_instances={name: number.value for name, number in by_copy.items()},
        instances={s: sum(n.value for n in numbers) for s, numbers in by_statement.items()},
        operations_each={s.name: operations(s.value) for s in scop.statements},
        writes={s.name: s.array for s in scop.statements},
        scratch=_scratches(program, dict(numbers), machine),
        live_in_bytes=_live_bytes(scop, numbers, "in"),
        live_out_bytes=_live_bytes(scop, numbers, "out"),
        stored=_stored(program, dict(numbers)),
        moved={name: traffic.through(size) for name, size in levels.items()},
        source_moved=_source_moved(scop, numbers, machine),
        parallel={name: round(runs) for name, runs in shared.items()},
        scheduled=program,
        estimated=frozenset(_guessed(by_copy, by_statement, shared)),
        source_estimated=frozenset(name for name in source if not source[name].is_exact),
    )


def _guessed(
    by_copy: Mapping[str, Number], plan: Mapping[str, list[Number]], loops: Mapping[str, float]
) -> Iterator[str]:
    yield from (name for name, runs in loops.items() if isinstance(runs, Estimate))
    yield from (name for name, number in by_copy.items() if not number.is_exact)
    yield from (name for name, parts in plan.items() if not all(n.is_exact for n in parts))


def operations(expr: Expr) -> int:
    """The arithmetic operations of one evaluation; subscripts, loads and conversions are free."""
    if isinstance(expr, (Affine, Const, Inside, Load)):
        return 0
    own = 0 if isinstance(expr, Cast) else 1
    return own + sum(operations(child) for child in expr.children)


# -- instances --------------------------------------------------------------------------------


def _instances(
    program: ScheduledProgram, sizes: _Sizes
) -> tuple[dict[str, Number], dict[str, list[Number]]]:
    """Instances per copy, and per statement with inlined evaluations; packs compute nothing."""
    given = dict(sizes)
    by_copy: dict[str, Number] = {}
    by_statement: dict[str, list[Number]] = {s.name: [] for s in program.scop.statements}
    for name in program.places:
        found = with_operands(program, program.copies[name])
        by_copy |= {copy.name: number_of(copy, given) for copy in found}
        for statement, runs, _ in evaluated(program, name):
            by_statement[statement].append(counted(runs, given))
    return by_copy, by_statement


class _Source:
    """What is known of a program's source, by sizes and machine."""

    def __init__(self, scop: Scop) -> None:
        self.program = source_program(scop)
        self.instances: dict[_Sizes, dict[str, Number]] = {}
        self.moved: dict[tuple[_Sizes, Target], dict[str, dict[str, int]]] = {}
        self.times: dict[tuple[_Sizes, Target], Prediction] = {}
        self.live: dict[tuple[_Sizes, str], int] = {}


@memo
def _source(scop: Scop) -> _Source:
    return _Source(scop)


def _source_instances(scop: Scop, sizes: _Sizes) -> dict[str, Number]:
    known = _source(scop)
    if sizes not in known.instances:
        known.instances[sizes] = {
            name: counted(copy.domain, dict(sizes)) for name, copy in known.program.copies.items()
        }
    return known.instances[sizes]


def _source_moved(scop: Scop, sizes: _Sizes, machine: Target) -> dict[str, dict[str, int]]:
    known = _source(scop)
    key = sizes, machine
    if key not in known.moved:
        traffic = Traffic(known.program, dict(sizes))
        known.moved[key] = {
            "L2": traffic.through(machine.l1_bytes),
            "memory": traffic.through(machine.l2_bytes),
        }
    return known.moved[key]


def _source_time(scop: Scop, sizes: _Sizes, machine: Target) -> Prediction:
    known = _source(scop)
    key = sizes, machine
    if key not in known.times:
        known.times[key] = predict(known.program, dict(sizes), machine, machine.cores)
    return known.times[key]


# -- storage ----------------------------------------------------------------------------------


def _live_bytes(scop: Scop, sizes: _Sizes, side: str) -> int:
    known = _source(scop).live
    if (sizes, side) not in known:
        known[sizes, side] = sum(
            array_bytes(a, dict(sizes))
            for a in scop.arrays
            if (a.is_live_in if side == "in" else a.is_live_out)
        )
    return known[sizes, side]


def _scratches(
    program: ScheduledProgram, sizes: Mapping[str, int], machine: Target
) -> tuple[ScratchCost, ...]:
    result: list[ScratchCost] = []
    for scratch in program.scratches:
        extents = tuple(max(0, parameter_value(e, sizes)) for e in scratch.extents)
        size = program.scop.array(scratch.array).type.bytes
        for extent in extents:
            size *= extent
        where = "register" if all(e == 1 for e in extents) else _level(size, machine)
        result.append(ScratchCost(scratch.name, scratch.array, scratch.at, extents, size, where))
    return tuple(result)


def _level(size: int, machine: Target) -> str:
    if size <= machine.l1_bytes:
        return "L1"
    return "L2" if size <= machine.l2_bytes else "memory"


def _stored(program: ScheduledProgram, sizes: Mapping[str, int]) -> dict[str, int]:
    """Temporary arrays that some copy writes in full."""
    written = {
        program.copies[name].statement.array
        for name in program.places
        if program.store(name, program.copies[name].statement.array) is None
    }
    return {
        a.name: array_bytes(a, sizes)
        for a in program.scop.arrays
        if a.role == "temp" and a.name in written
    }


def _parallel(program: ScheduledProgram, sizes: Mapping[str, int]) -> dict[str, float]:
    """Iterations that threads share at every parallel loop, per entry."""
    result: dict[str, float] = {}
    for loop in loops_of(program.tree):
        shared = shared_from(program.places[copies_in(loop)[-1]].loops)
        if loop in shared[:1]:
            result[loop.name] = prod(trips(program, one, sizes) for one in shared)
    return result
