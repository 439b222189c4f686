"""The time model: how long a plan takes, nest by nest, and what bounds each nest.

A nest's time is what its innermost bodies ask of the core, what it moves from each level of the
caches and from memory, and what starting loops and threads takes. Caches deliver while the core
computes, so the parts overlap: neither their sum nor their largest, but a power mean between.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.scheduler.model.body import BodyModel
from polyopt.scheduler.model.accesses import body_start
from polyopt.scheduler.model.cache import Traffic
from polyopt.scheduler.model.cost import evaluated, instances_of
from polyopt.scheduler.model.machine import Costs, costs_of
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of, prefix_map

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.target import Target
    from polyopt.transform.schedule.program import ScheduledProgram

#: how parts of a nest's time overlap: 1 adds them up, a large power is the largest alone
OVERLAP = 2.0
LEVELS = ("L2", "L3", "memory")


@dataclass(frozen=True)
class NestTime:
    """Nanoseconds of one nest, on the busiest thread."""

    name: str
    compute: float
    #: by what data comes from: "L2", "L3", "memory"
    traffic: Mapping[str, float]
    starts: float
    #: starting threads, and waiting for the last of them
    threads: float

    @property
    def total(self) -> float:
        """All of it, overlapped."""
        parts = (self.compute, *self.traffic.values())
        return sum(p**OVERLAP for p in parts) ** (1 / OVERLAP) + self.starts + self.threads

    @property
    def bound(self) -> str:
        """What takes the longest."""
        parts = {"compute": self.compute, **self.traffic, "starts": self.starts, "threads": self.threads}
        return max(parts, key=lambda name: parts[name])


@dataclass(frozen=True)
class Prediction:
    """The time of a program, by nests in textual order."""

    nests: tuple[NestTime, ...]

    @property
    def ns(self) -> float:
        """Nanoseconds of a call."""
        return sum(nest.total for nest in self.nests)


def predict(
    program: ScheduledProgram, sizes: Mapping[str, int], machine: Target, threads: int = 1
) -> Prediction:
    """How long a call takes on some threads, for parameter values ``sizes``."""
    return _Model(program, sizes, machine, threads).all()


class _Model:
    def __init__(
        self, program: ScheduledProgram, sizes: Mapping[str, int], machine: Target, threads: int
    ) -> None:
        self.program, self.sizes = program, sizes
        self.machine, self.threads = machine, threads
        self.costs: Costs = costs_of(machine)
        self.traffic = Traffic(program, sizes)
        self.bodies = BodyModel(program, machine, self.traffic.trips)

    def all(self) -> Prediction:
        caches = self.machine.l1_bytes, self.machine.l2_bytes, self.machine.last_bytes
        moved = [self.traffic.by_nest(size) for size in caches]
        return Prediction(
            tuple(
                self._nest(number, node, [m[number] for m in moved])
                for number, node in enumerate(self.program.tree)
            )
        )

    def _nest(
        self, number: int, node: PlanLoop | str, moved: list[Mapping[bool, float]]
    ) -> NestTime:
        compute = starts = 0.0
        for name in copies_in(node):
            cycles, started = self._copy(name)
            share = self._share(name)
            compute += cycles * share
            starts += started * share
        clock = self.costs.clock
        traffic: dict[str, float] = {}
        for level, by in enumerate(moved):
            one, all_ = self.costs.bandwidth[level], self.costs.shared[level]
            rate = min(one * self.threads, all_) if self.threads > 1 else one
            traffic[LEVELS[level]] = (by[True] / rate + by[False] / one) / clock
        name = node if isinstance(node, str) else node.name
        return NestTime(name, compute / clock, traffic, starts / clock, self._regions(node))

    def _copy(self, name: str) -> tuple[float, float]:
        """Cycles of a copy's bodies, and of starting the loops around them."""
        copy, place = self.program.copies[name], self.program.places[name]
        runs = instances_of(copy, self.sizes)
        if not runs:
            return 0.0, 0.0
        each: dict[str, float] = {}
        for statement, instances, _ in evaluated(self.program, name):
            each[statement] = each.get(statement, 0.0) + about(instances, self.sizes) / runs
        body = self.bodies.of(name, each)
        first = body_start(place)
        entries = 1.0
        if first > 1:
            outer = prefix_map(copy, place.loops[: first - 1]).range()
            entries = float(about(outer, self.sizes))
        trips = runs / body.instances / entries if entries else 0.0
        start = self.costs.vector_start if body.lanes > 1 else self.costs.start
        return entries * trips * body.cycles(self.costs), entries * start

    def _parallel(self, name: str) -> PlanLoop | None:
        loops = self.program.places[name].loops
        return next((loop for loop in loops if loop.mark == "parallel"), None)

    def _share(self, name: str) -> float:
        """The part of a copy's work that the busiest thread does."""
        loop = self._parallel(name)
        if loop is None or self.threads == 1:
            return 1.0
        trips = self.traffic.trips[name, loop.name]
        return ceil(trips / self.threads) / trips

    def _regions(self, node: PlanLoop | str) -> float:
        if self.threads == 1 or isinstance(node, str):
            return 0.0
        total = 0.0
        for loop in loops_of((node,)):
            if loop.mark == "parallel":
                name = copies_in(loop)[-1]
                entries = 1.0
                for outer in self.program.places[name].loops:
                    if outer.name == loop.name:
                        break
                    entries *= self.traffic.trips[name, outer.name]
                total += entries * self.costs.region
        return total
