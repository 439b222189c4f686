"""The time model: how long a plan takes, nest by nest, and what bounds each nest.

A nest's time is what its innermost bodies ask of the core, what comes from each level of the caches
and from memory, and what starting loops and threads takes. Caches deliver while the core computes:
parts overlap, so that together they take less than their sum and more than the largest.

What a plan does (``work_of``) is counted apart from what that costs (``Costs``): the same work has
another time on another machine, and costs are fitted without counting again.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.scheduler.model.body import Body, BodyModel
from polyopt.scheduler.model.cache import Traffic, nest_name
from polyopt.scheduler.model.instances import evaluated, instances_of, trips
from polyopt.scheduler.model.machine import costs_of
from polyopt.transform.schedule.query import shared_from
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of, prefix_map

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from polyopt.codegen.target import Target
    from polyopt.scheduler.model.machine import Costs
    from polyopt.transform.schedule.program import ScheduledProgram

#: how near to a whole number an average of iterations is where all entries have as many
_WHOLE = 1e-6
#: where data comes from, nearest first
LEVELS = ("L2", "last cache", "memory")


@dataclass(frozen=True)
class Runs:
    """How often the innermost body of a copy runs."""

    copy: str
    body: Body
    iterations: float
    #: of the innermost loop
    entries: float
    #: iterations that threads share; 0 where they share none
    shared: float

    def left_over(self) -> float:
        """Elements that fill no vector, over all entries: each entry has as many; and those of
        partial blocks."""
        lanes = self.body.lanes
        if lanes == 1 or not self.entries:
            return 0.0
        each = self.iterations * lanes / self.entries
        whole = abs(each - round(each)) < _WHOLE
        rest = round(each) % lanes if whole else min(each, (lanes - 1) / 2)
        return self.entries * max(rest, self.body.partial * each)


@dataclass(frozen=True)
class NestWork:
    """What one nest does."""

    name: str
    runs: tuple[Runs, ...]
    #: bytes from and to each of ``LEVELS``, by whether threads share the loops that move them
    moved: tuple[Mapping[bool, float], ...]
    #: how often threads are started
    regions: float

    def time(self, costs: Costs, threads: int) -> NestTime:
        """What that takes on the busiest of some threads."""
        compute: dict[str, float] = {}
        starts = 0.0
        for runs in self.runs:
            share = 1.0
            if runs.shared and threads > 1:
                share = max(1.0 / threads, ceil(runs.shared / threads) / runs.shared)
            parts = runs.body.parts(costs)
            bound = max(parts, key=lambda part: parts[part])
            left = runs.left_over()
            full = runs.iterations - left / runs.body.lanes
            spent = full * parts[bound] + (left * runs.body.single(costs) if left else 0.0)
            compute[bound] = compute.get(bound, 0.0) + share * spent / costs.clock
            start = costs.vector_start if runs.body.lanes > 1 else costs.start
            starts += share * runs.entries * start / costs.clock
        traffic: dict[str, float] = {}
        for level, bytes_ in enumerate(self.moved):
            one = costs.bandwidth[level]
            all_ = min(threads * one, max(one, costs.shared[level]))
            cycles = bytes_[True] / all_ + bytes_[False] / one
            traffic[LEVELS[level]] = costs.exposed * cycles / costs.clock
        waits = costs.region * self.regions if threads > 1 else 0.0
        return NestTime(self.name, compute, traffic, starts, waits, costs.overlap)


@dataclass(frozen=True)
class NestTime:
    """Nanoseconds of one nest, on the busiest thread."""

    name: str
    #: by what innermost bodies spend them on: "loads", "arithmetic", ...
    compute: Mapping[str, float]
    #: by where data comes from, ``LEVELS``
    traffic: Mapping[str, float]
    #: starting loops
    starts: float
    #: starting threads, and waiting for the last of them
    threads: float
    #: how much of compute and traffic is at once
    overlap: float

    @property
    def ns(self) -> float:
        """All of it."""
        parts = (sum(self.compute.values()), *self.traffic.values())
        together = sum(part**self.overlap for part in parts) ** (1 / self.overlap)
        return together + self.starts + self.threads

    @property
    def bound(self) -> str:
        """What it spends most of its time on."""
        parts = {**self.compute, **{f"bytes from {k}": ns for k, ns in self.traffic.items()}}
        parts |= {"starts of loops": self.starts, "starts of threads": self.threads}
        return max(parts, key=lambda part: parts[part])


@dataclass(frozen=True)
class Prediction:
    """The time of a call on some threads, by nests in textual order."""

    threads: int
    nests: tuple[NestTime, ...]

    @property
    def ns(self) -> float:
        """Nanoseconds in all."""
        return sum(nest.ns for nest in self.nests)


def predict(
    program: ScheduledProgram, sizes: Mapping[str, int], machine: Target, threads: int = 1
) -> Prediction:
    """How long a call takes on some threads, for parameter values ``sizes``."""
    work, costs = work_of(program, sizes, machine), costs_of(machine)
    return Prediction(threads, tuple(nest.time(costs, threads) for nest in work))


def work_of(
    program: ScheduledProgram,
    sizes: Mapping[str, int],
    machine: Target,
    nests: Collection[str] | None = None,
) -> tuple[NestWork, ...]:
    """What each nest does, or each of some: instructions, bytes through each cache, starts."""
    return _Counter(program, sizes, machine, nests).all()


class _Counter:
    def __init__(
        self,
        program: ScheduledProgram,
        sizes: Mapping[str, int],
        machine: Target,
        nests: Collection[str] | None,
    ) -> None:
        self.program, self.sizes, self.machine = program, sizes, machine
        self.traffic = Traffic(program, sizes, nests)
        self.tree = [n for n in program.tree if nests is None or nest_name(n) in nests]
        self.bodies = BodyModel(program, machine, self.traffic)

    def all(self) -> tuple[NestWork, ...]:
        caches = self.machine.l1_bytes, self.machine.l2_bytes, self.machine.last_bytes
        moved = zip(*(self.traffic.lines(size) for size in caches), strict=True)
        return tuple(
            NestWork(
                nest_name(node),
                tuple(self._runs(name) for name in copies_in(node)),
                bytes_,
                self._regions(node),
            )
            for node, bytes_ in zip(self.tree, moved, strict=True)
        )

    def _runs(self, name: str) -> Runs:
        copy, place = self.program.copies[name], self.program.places[name]
        instances = instances_of(copy, self.sizes)
        each: dict[str, float] = {}
        for statement, needed, _ in evaluated(self.program, name):
            each[statement] = each.get(statement, 0.0) + about(needed, self.sizes)
        each = {statement: number / max(1, instances) for statement, number in each.items()}
        body = self.bodies.of(name, each)
        outer = place.loops[: max(0, self.bodies.start(name) - 1)]
        entries = about(prefix_map(copy, outer).range(), self.sizes) if outer else 1
        shared = [trips(self.program, loop, self.sizes) for loop in shared_from(place.loops)]
        return Runs(
            name,
            body,
            instances / body.instances,
            float(entries),
            float(prod(shared)) if shared else 0.0,
        )

    def _regions(self, node: PlanLoop | str) -> float:
        """How often threads are started in a nest."""
        total = 0.0
        for loop in loops_of((node,)) if isinstance(node, PlanLoop) else ():
            name, entries = copies_in(loop)[-1], 1.0
            path = self.program.places[name].loops
            if loop not in shared_from(path)[:1]:
                continue
            for outer in path[: path.index(loop)]:
                entries *= self.traffic.trips[name, outer.name]
            total += entries
        return total
