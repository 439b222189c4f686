"""What an innermost body asks of a core: loads, stores, arithmetic, and what has to wait.

A body is one iteration of the innermost loop that is not written out, with all that is written out
inside of it: elements that it loads twice are loaded once, and what does not move with the loop
stays in registers while there are some.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import ceil, prod
from typing import TYPE_CHECKING

from polyopt.codegen.helpers.math.functions import has_vector_math
from polyopt.codegen.helpers.nontemporal import LINE
from polyopt.ir.expr import (
    Cast,
    Expr,
    Load,
    walk,
)
from polyopt.scheduler.model.accesses import AccessFunction, accesses_of, body_start, moves_of
from polyopt.scheduler.model.instances import computed_bytes, constant_trips
from polyopt.scheduler.model.instructions import Operations, has_vectors, operations
from polyopt.transform.schedule.query import moves_target

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.target import Target
    from polyopt.scheduler.model.cache import Traffic
    from polyopt.scheduler.model.machine import Costs
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

    #: a loop, and how far the dimensions of a copy go with it
    _Step = tuple[PlanLoop, Mapping[int, float]]

#: iterations of innermost loops that compilers write out (GCC's max-completely-peel-times)
_WRITTEN_OUT = 16
#: iterations of copies in one loop that are nearly as many: the rest are borders
_ALIKE = 0.75
#: instructions that count an iteration and go back
OVERHEAD = 2.0
#: rows of so many elements a lane are loaded whole, and what lanes need taken out of them
MOST_STRIDE = 4
#: elements of one access in a body that are looked at one by one; more are like these
_MOST_POINTS = 64


@dataclass(frozen=True)
class Body:
    """The instructions of one iteration; those of vectors where there are ``lanes``."""

    #: instances of the copy in an iteration
    instances: float
    lanes: int
    loads: float
    #: loads that may lie across two lines
    splits: float
    #: elements that are loaded or stored one by one into vectors
    gathers: float
    stores: float
    operations: Operations
    #: operations that the next iteration waits for
    chain: float
    #: share of the instances in partial blocks of unrolled loops: they stand under conditions
    partial: float

    def parts(self, costs: Costs) -> dict[str, float]:
        """Cycles of one iteration by what they are spent on; the largest bounds it."""
        done, slow = self.operations, self.operations.slow(costs)
        chain = {"a chain of operations": self.chain * costs.latency}
        if self.lanes == 1:
            number = OVERHEAD + self.loads + self.stores + self.gathers + done.simple
            return {"instructions": number * costs.scalar + slow} | chain
        moved = self.loads * costs.load + self.splits * costs.split
        return chain | {
            "loads": moved + self.gathers * costs.gather,
            "stores": self.stores * costs.store,
            "arithmetic": done.simple * costs.arithmetic + slow,
        }

    def single(self, costs: Costs) -> float:
        """Cycles of one element that is left over from vectors: it is done by itself."""
        number = OVERHEAD + self.loads + self.stores + self.operations.simple
        number += self.gathers / self.lanes
        return number * costs.scalar + self.operations.slow(costs) / self.lanes


@dataclass(frozen=True, eq=False)
class _Frame:
    """The loops of a body, as the copy's dimensions move with them."""

    copy: str
    #: the innermost loop that is not written out
    loop: PlanLoop | None
    moved: Mapping[int, float]
    #: the loops that are
    inside: list[_Step]
    #: how dimensions move from lane to lane
    rows: Mapping[int, float]
    lanes: int
    #: iterations of the loop that are lanes: 1 where these lie inside of the body
    own: int
    chain: float


@dataclass(frozen=True)
class _Moving:
    """Loads, those of them across lines, elements one by one, stores, and vectors that are made of
    aligned ones beside each other."""

    loads: float
    splits: float
    gathers: float
    stores: float
    permuted: float


@dataclass(frozen=True)
class _Need:
    """Vectors (or numbers, where there are no lanes) that an access is, or elements one by one."""

    access: AccessFunction
    vectors: float
    single: float

    def stays(self, moved: Mapping[int, float]) -> bool:
        """Whether the next iteration of the loop needs the same ones."""
        steps = self.access.steps(moved)
        return bool(moved) and steps is not None and not any(steps)


class BodyModel:
    """Bodies of a program's copies for a machine."""

    def __init__(self, program: ScheduledProgram, machine: Target, traffic: Traffic) -> None:
        self.program, self.machine, self.traffic = program, machine, traffic
        self.trips = traffic.trips
        self.own_math = has_vector_math(program.scop)

    def of(self, copy: str, evaluated: Mapping[str, float]) -> Body:
        """The body of a copy; ``evaluated`` are the runs of statements per instance of it."""
        accesses = accesses_of(self.program, copy)
        frame = self._frame(copy, accesses)
        count = prod(self.trips[copy, n.name] for n, _ in frame.inside)
        moving = self._moving(frame, accesses)
        done = Operations(moving.permuted)
        for name, runs in evaluated.items():
            value = self.program.scop.statement(name).value
            done = done.plus(
                operations(value, self.machine, frame.lanes, own_math=self.own_math),
                runs * count * frame.own / frame.lanes,
            )
        chain = frame.chain if frame.own == 1 else 0.0
        return Body(
            count * frame.own, frame.lanes, moving.loads, moving.splits, moving.gathers,
            moving.stores, done, chain, self._partial(frame),
        )  # fmt: skip

    def _partial(self, frame: _Frame) -> float:
        """The share of a copy's updates of one element that are in partial blocks of unrolled
        loops: one block at an end, or two where more is missing than one lacks.

        Partial blocks of rows are loops of their own.
        """
        share = 0.0
        loops = self.program.places[frame.copy].loops
        for loop, _ in frame.inside:
            blocks = next((b for b in loops if b.blocks_of is loop.origin), None)
            if loop.mark != "unroll" or blocks is None:
                continue
            if moves_target(self.program, frame.copy, loop):
                continue
            size = max(moves_of(frame.copy, (blocks,))[0].values(), default=1.0)
            count = self.trips[frame.copy, blocks.name]
            total = count * self.trips[frame.copy, loop.name]
            missing = count * size - total
            if missing > 0 < total and size > 1:
                partial = ceil(missing / (size - 1)) * size  # each has an iteration at least
                share = max(share, min(1.0, (partial - missing) / total))
        return share

    def _frame(self, copy: str, accesses: tuple[AccessFunction, ...]) -> _Frame:
        place = self.program.places[copy]
        start = self.start(copy)
        moves = moves_of(copy, place.loops)
        inside: list[_Step] = list(zip(place.loops[start:], moves[start:], strict=True))
        loop = place.loops[start - 1] if start else None
        moved = moves[start - 1] if start else {}
        chain = self._chain(copy, accesses, moved) if loop is not None else 0.0
        # a loop that is written out for being short has no lanes; one of a tile has its width
        within = next(((n, m) for n, m in inside if n.mark == "vector" and n.width), None)
        lanes = self._lanes(copy, loop, within, accesses, moved, chain)
        rows = within[1] if within is not None else moved
        return _Frame(copy, loop, moved, inside, rows, lanes, 1 if within else lanes, chain)

    def _moving(self, frame: _Frame, accesses: tuple[AccessFunction, ...]) -> _Moving:
        """What a body loads and stores, and keeps in registers."""
        loads = splits = gathers = stores = permuted = 0.0
        loops = self.program.places[frame.copy].loops
        aligned, seen = any(loop.lanes for loop in loops), set[object]()
        needs = [
            self._needed(frame, access, points)
            for access, points in self._distinct(frame, accesses).items()
        ]
        fit = self._kept(frame, needs) <= self.machine.registers
        for need in needs:
            often = 1.0
            if need.stays(frame.moved) and frame.loop and (fit or not need.access.writes):
                often = min(1.0, frame.own / self.trips[frame.copy, frame.loop.name])
            vectors = need.vectors * often
            gathers += need.single * often
            if need.access.writes:
                stores += vectors
                continue
            along = frame.lanes > 1 and any(need.access.steps(frame.rows) or ())
            if along and aligned:
                row = need.access.directions, need.access.constants[:-1]
                permuted += vectors if row in seen else 0.0
                loads += 0.0 if row in seen else vectors
                seen.add(row)
                continue
            loads += vectors
            splits += vectors if along and self._crosses(need.access) else 0.0
        return _Moving(loads, splits, gathers, stores, permuted)

    def _kept(self, frame: _Frame, needs: list[_Need]) -> float:
        """Registers for what stays from one iteration to the next: read and written is one."""
        kept: dict[object, float] = {}
        for need in needs:
            if need.stays(frame.moved):
                key = need.access.directions, need.access.constants
                kept[key] = max(need.vectors, kept.get(key, 0.0))
        return sum(kept.values())

    def _needed(self, frame: _Frame, access: AccessFunction, points: float) -> _Need:
        """What some elements of an access in a body are loaded or stored as."""
        if frame.lanes == 1:
            return _Need(access, points, 0.0)
        stride, elements = _stride(access.stride(frame.rows)), points * frame.own
        if stride is None:
            return _Need(access, 0.0, elements)
        if not stride:
            return _Need(access, points, 0.0)
        width = self.program.scop.array(access.array).type.bytes
        vectors = max(elements * width / self.machine.vector_bytes, elements / frame.lanes)
        return _Need(access, vectors * max(1.0, stride), 0.0)

    def start(self, copy: str) -> int:
        """How many of the loops around a copy are outside of its body: short innermost ones are
        written out by C compilers as well, and so are strips of a few vectors."""
        place = self.program.places[copy]
        count, written = body_start(place), 1.0
        while count > 1 and self._may_be_written_out(copy, place.loops[count - 1]):
            loop = place.loops[count - 1]
            lanes = self._most_lanes(copy, loop) if loop.width else 1
            written *= self.trips[copy, loop.name] / lanes
            if written > _WRITTEN_OUT:
                break
            count -= 1
        return count

    def _may_be_written_out(self, copy: str, loop: PlanLoop) -> bool:
        """Whether it is an ordinary loop of a constant number of iterations: unmarked, or marked
        and too short for one vector; or a strip of vectors."""
        trips = self.trips[copy, loop.name]
        if loop.mark != "vector":
            short = not loop.mark and trips <= _WRITTEN_OUT
            return short and constant_trips(self.program, loop) is not None
        if loop.width:
            return trips <= loop.width
        return trips < self._computed_lanes(copy)

    def _most_lanes(self, copy: str, loop: PlanLoop) -> int:
        return min(loop.width, self._computed_lanes(copy))

    def _computed_lanes(self, copy: str) -> int:
        """The lanes of a vector of the widest type that a copy computes with."""
        return self.machine.lanes(computed_bytes(self.program, self.program.copies[copy]))

    def _crosses(self, access: AccessFunction) -> bool:
        """Whether vectors of it lie across lines: they are as long as these, and it is shifted."""
        return self.machine.vector_bytes >= LINE and bool(access.constants[-1:] != (0,))

    def _distinct(
        self, frame: _Frame, accesses: tuple[AccessFunction, ...]
    ) -> dict[AccessFunction, float]:
        """One access for each element, with how many elements there are like it in a body.

        Accesses that go the same way a constant apart may meet where loops are written out.
        """
        ways: dict[object, dict[tuple[float, ...], AccessFunction]] = {}
        scales: dict[object, float] = {}
        others: dict[AccessFunction, float] = {}
        for access in accesses:
            if access.subscripts is None:
                others[access] = prod(self.trips[frame.copy, n.name] for n, _ in frame.inside)
                continue
            elements, scale = self._elements(frame, access)
            key = access.directions, access.writes
            ways.setdefault(key, {}).update(dict.fromkeys(elements, access))
            scales[key] = max(scale, scales.get(key, 1.0))
        found: dict[AccessFunction, float] = {}
        for key, elements in ways.items():
            for access in elements.values():
                found[access] = found.get(access, 0.0) + scales[key]
        return found | others

    def _elements(
        self, frame: _Frame, access: AccessFunction
    ) -> tuple[set[tuple[float, ...]], float]:
        """Where an access goes within a body, relative to where its like go; how many times as
        many there are where not all are looked at."""
        elements = {access.constants}
        scale = 1.0
        for loop, moved in frame.inside:
            steps = access.steps(moved)
            if steps is None or not any(steps):
                continue
            trips = ceil(self.trips[frame.copy, loop.name])
            looked = min(trips, max(1, _MOST_POINTS // len(elements)))
            scale *= trips / looked
            elements = {
                tuple(c + k * s for c, s in zip(one, steps, strict=True))
                for one, k in product(elements, range(looked))
            }
        return elements, scale

    def _lanes(
        self,
        copy: str,
        loop: PlanLoop | None,
        within: _Step | None,
        accesses: tuple[AccessFunction, ...],
        moved: Mapping[int, float],
        chain: float,
    ) -> int:
        types = [self.program.scop.array(a.array).type.bytes for a in accesses]
        most = self.machine.lanes(min(types, default=4))
        marked = within[0] if within is not None else loop
        if marked is not None:  # C compilers have shorter vectors of narrow types for short loops
            least, trips = self._computed_lanes(copy), self.trips[copy, marked.name]
            while most > max(least, trips):
                most //= 2
        if loop is not None and self._has_guards(loop):
            return 1
        if marked is not None and marked.mark == "vector":
            return min(most, marked.width or most)
        if loop is None or chain or self._meet(loop):
            return 1
        return most if self._is_vectorized(copy, accesses, moved) else 1

    def _has_guards(self, loop: PlanLoop) -> bool:
        """Whether some copies in an innermost loop run in fewer of its iterations than others: they
        stand under conditions, which keep compilers from making vectors."""
        if len(loop.copies) == 1:
            return False
        times = [self.traffic.iterations(copy, loop.name) for copy in loop.copies]
        return min(times) < _ALIKE * max(times)

    def _meet(self, loop: PlanLoop) -> bool:
        """Whether copies in one innermost loop access elements of each other's, a constant apart:
        a later iteration may need what an earlier one computed."""
        written: dict[tuple[str, str], tuple[str, AccessFunction]] = {}
        accesses = {copy: accesses_of(self.program, copy) for copy in loop.copies}
        for copy, found in accesses.items():
            written |= {access.place: (copy, access) for access in found if access.writes}
        return any(
            copy != written[access.place][0]
            and access.constants != written[access.place][1].constants
            for copy, found in accesses.items()
            for access in found
            if access.place in written
        )

    def _is_vectorized(
        self, copy: str, accesses: tuple[AccessFunction, ...], moved: Mapping[int, float]
    ) -> bool:
        """Whether C compilers make vectors of a loop that is not marked."""
        for access in accesses:
            steps = access.steps(moved)
            if steps is None or any(steps[:-1]) or (steps and steps[-1] not in {0, 1}):
                return False
            if access.writes and not any(steps):
                return False
        statement = self.program.copies[copy].statement
        return all(has_vectors(e, self.own_math) for e in walk(statement.value))

    def _chain(
        self, copy: str, accesses: tuple[AccessFunction, ...], moved: Mapping[int, float]
    ) -> float:
        """Operations per iteration that wait for those of an earlier one."""
        statement = self.program.copies[copy].statement
        worst = 0.0
        for write in (a for a in accesses if a.writes):
            steps = write.steps(moved)
            for read in accesses:
                if read.writes or steps is None or read.directions != write.directions:
                    continue
                apart = [w - r for w, r in zip(write.constants, read.constants, strict=True)]
                distance = _distance(apart, steps)
                if distance is not None and (statement.value.type.is_float or distance):
                    depth = _depth(statement.value, statement.array)
                    worst = max(worst, depth / max(1, distance))
        return worst


def _stride(stride: float | None) -> float | None:
    """How far apart lanes' elements lie, 0 for one that all share; ``None`` where they are loaded
    one by one: in other rows, or where data say."""
    return None if stride is None or abs(stride) > MOST_STRIDE else abs(stride)


def _distance(apart: list[float], steps: tuple[float, ...]) -> int | None:
    """After how many iterations an element comes again, 0 for one that stays; else ``None``."""
    if not any(steps):
        return 0 if not any(apart) else None
    times = {a / s for a, s in zip(apart, steps, strict=True) if s}
    if any(a for a, s in zip(apart, steps, strict=True) if not s) or len(times) != 1:
        return None
    (found,) = times
    return int(found) if found > 0 and found == int(found) else None


def _depth(value: Expr, array: str) -> int:
    """Operations between a load of an array and the value, on the shortest way; at least one."""

    def of(expr: Expr) -> float:
        if isinstance(expr, Load):
            return 0 if expr.array == array else float("inf")
        below = min(map(of, expr.children), default=float("inf"))
        return below + (0 if isinstance(expr, Cast) else 1)

    found = of(value)
    return 1 if found == float("inf") else max(1, int(found))
