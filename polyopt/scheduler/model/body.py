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

from polyopt.ir.expr import Affine, Binary, Call, Cast, Const, Expr, Inside, Load, Select, walk
from polyopt.scheduler.model.accesses import AccessFunction, accesses_of, body_start, moves_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.codegen.target import Target
    from polyopt.scheduler.model.machine import Costs
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

    #: a loop, and how far the dimensions of a copy go with it
    _Moving = tuple[PlanLoop, Mapping[int, int]]

#: elements of one access in a body that are looked at one by one; more are like these
_MOST_POINTS = 64
#: math functions that are vector instructions
VECTOR_CALLS = {"sqrt", "fabs", "abs", "floor", "ceil", "trunc"}


@dataclass(frozen=True)
class Operations:
    """Instructions of one evaluation of an expression, by kind."""

    #: vectors of additions and the like, or numbers
    simple: float = 0.0
    #: bytes of vectors that are divided; half as much again for roots
    divided: float = 0.0
    #: numbers one by one: math functions, divisions of integers, elements at places of their own
    calls: float = 0.0
    integer_divisions: float = 0.0

    def plus(self, other: Operations, times: float) -> Operations:
        """With ``times`` another one."""
        return Operations(
            self.simple + times * other.simple,
            self.divided + times * other.divided,
            self.calls + times * other.calls,
            self.integer_divisions + times * other.integer_divisions,
        )


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

    def cycles(self, costs: Costs) -> float:
        """Of one iteration: what the ports, or a chain, take longest for."""
        done = self.operations
        slow = done.divided * costs.divide + done.calls * costs.call
        slow += done.integer_divisions * costs.integer_divide
        if self.lanes == 1:
            number = 2.0 + self.loads + self.stores + self.gathers + done.simple
            return max(number * costs.scalar + slow, self.chain * costs.latency)
        moved = self.loads * costs.load + self.splits * costs.split + self.gathers * costs.gather
        ports = max(moved, self.stores * costs.store, done.simple * costs.arithmetic)
        return max(ports + slow, self.chain * costs.latency)


class BodyModel:
    """Bodies of a program's copies for a machine; ``trips`` as ``Traffic.trips``."""

    def __init__(
        self,
        program: ScheduledProgram,
        machine: Target,
        trips: Mapping[tuple[str, str], float],
    ) -> None:
        self.program, self.machine, self.trips = program, machine, trips

    def of(self, copy: str, evaluated: Mapping[str, float]) -> Body:
        """The body of a copy; ``evaluated`` are the runs of statements per instance of it."""
        place = self.program.places[copy]
        start = body_start(place)
        moves = moves_of(copy, place.loops)
        inside: list[_Moving] = list(zip(place.loops[start:], moves[start:], strict=True))
        loop = place.loops[start - 1] if start else None
        moved = moves[start - 1] if start else {}
        accesses = accesses_of(self.program, copy)
        chain = self._chain(copy, accesses, moved) if loop is not None else 0.0
        within = next(((n, m) for n, m in inside if n.mark == "vector"), None)
        lanes = self._lanes(copy, loop, within, accesses, moved, chain)
        # the dimensions along which lanes lie, and how many lanes are iterations of the body's own
        rows = within[1] if within is not None else moved
        own = lanes if within is None else 1
        count = prod(self.trips[copy, n.name] for n, _ in inside)
        vectors = count / (1 if within is None else lanes)
        counts = self._counts(copy, accesses, inside, moved, rows, lanes, own)
        done = Operations()
        for name, runs in evaluated.items():
            value = self.program.scop.statement(name).value
            done = done.plus(operations(value, self.machine, lanes), runs * vectors)
        return Body(count * own, lanes, *counts, done, chain if own == 1 else 0.0)

    def _counts(
        self,
        copy: str,
        accesses: tuple[AccessFunction, ...],
        inside: list[_Moving],
        moved: Mapping[int, int],
        rows: Mapping[int, int],
        lanes: int,
        own: int,
    ) -> tuple[float, float, float, float]:
        """Loads, those of them across lines, elements one by one, and stores."""
        loads = splits = gathers = stores = 0.0
        free = float(self.machine.registers)
        for access, points in self._distinct(copy, accesses, inside).items():
            steps = access.steps(rows)
            width = self.program.scop.array(access.array).type.bytes
            number, single = points, 0.0
            if lanes > 1:
                if steps is None or any(steps[:-1]) or (steps and abs(steps[-1]) > 1):
                    number, single = 0.0, points * own
                elif any(steps):
                    number = points * own * width / self.machine.vector_bytes
                    number = max(number, points / lanes * own)
            stays = access.steps(moved)
            if stays is not None and not any(stays):
                kept = min(free, number)
                free -= kept
                again = max(1.0, self.trips[copy, self._loop(copy).name]) / own
                number = number - kept + kept / max(1.0, again)
                single /= max(1.0, again)
            gathers += single
            if access.writes:
                stores += number
            else:
                loads += number
                if lanes > 1 and any(steps or ()) and self._crosses(access):
                    splits += number
        return loads, splits, gathers, stores

    def _loop(self, copy: str) -> PlanLoop:
        place = self.program.places[copy]
        return place.loops[body_start(place) - 1]

    def _crosses(self, access: AccessFunction) -> bool:
        """Whether vectors of it lie across lines: they are as long as these, and it is shifted."""
        return self.machine.vector_bytes >= LINE and bool(access.constants[-1:] != (0,))

    def _distinct(
        self, copy: str, accesses: tuple[AccessFunction, ...], inside: list[_Moving]
    ) -> dict[AccessFunction, float]:
        """One access for each element, with how many elements there are like it in a body.

        Accesses that go the same way a constant apart may meet where loops are written out.
        """
        ways: dict[object, dict[tuple[int, ...], AccessFunction]] = {}
        scales: dict[object, float] = {}
        others: dict[AccessFunction, float] = {}
        for access in accesses:
            if access.subscripts is None:
                others[access] = prod(self.trips[copy, loop.name] for loop, _ in inside)
                continue
            elements, scale = self._elements(copy, access, inside)
            key = access.directions, access.writes
            ways.setdefault(key, {}).update(dict.fromkeys(elements, access))
            scales[key] = max(scale, scales.get(key, 1.0))
        found: dict[AccessFunction, float] = {}
        for key, elements in ways.items():
            for access in elements.values():
                found[access] = found.get(access, 0.0) + scales[key]
        return found | others

    def _elements(
        self, copy: str, access: AccessFunction, inside: list[_Moving]
    ) -> tuple[set[tuple[int, ...]], float]:
        """Where an access goes within a body, relative to where its like go; how many times as
        many there are where not all are looked at."""
        elements = {access.constants}
        scale = 1.0
        for loop, moved in inside:
            steps = access.steps(moved)
            if steps is None or not any(steps):
                continue
            trips = ceil(self.trips[copy, loop.name])
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
        within: _Moving | None,
        accesses: tuple[AccessFunction, ...],
        moved: Mapping[int, int],
        chain: float,
    ) -> int:
        types = [self.program.scop.array(a.array).type.bytes for a in accesses]
        most = self.machine.lanes(min(types, default=4))
        marked = within[0] if within is not None else loop
        if marked is not None and marked.mark == "vector":
            return min(most, marked.width or most)
        if loop is None or chain:
            return 1
        return most if self._is_vectorized(copy, accesses, moved) else 1

    def _is_vectorized(
        self, copy: str, accesses: tuple[AccessFunction, ...], moved: Mapping[int, int]
    ) -> bool:
        """Whether C compilers make vectors of a loop that is not marked."""
        for access in accesses:
            steps = access.steps(moved)
            if steps is None or any(steps[:-1]) or (steps and steps[-1] not in {0, 1}):
                return False
            if access.writes and not any(steps):
                return False
        statement = self.program.copies[copy].statement
        return not any(
            isinstance(e, Call) and e.function not in VECTOR_CALLS for e in walk(statement.value)
        )

    def _chain(
        self, copy: str, accesses: tuple[AccessFunction, ...], moved: Mapping[int, int]
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


#: bytes that caches move at once
LINE = 64


def _distance(apart: list[int], steps: tuple[int, ...]) -> int | None:
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


def operations(expr: Expr, machine: Target, lanes: int) -> Operations:
    """The instructions of one evaluation, in all lanes."""
    simple = divided = calls = divisions = 0.0
    for node, fused in _nodes(expr):
        vectors = max(1.0, lanes * node.type.bytes / machine.vector_bytes) if lanes > 1 else 1.0
        match node:
            case Affine() | Const() | Inside() | Load():
                pass
            case Binary(op="div") if node.type.is_float:
                divided += max(8, lanes * node.type.bytes)
            case Binary(op="div" | "mod" | "floordiv" | "floormod"):
                if isinstance(node.right, Const):
                    simple += 3 * vectors
                else:
                    divisions += lanes
            case Call(function="sqrt"):
                divided += 1.5 * max(8, lanes * node.type.bytes)
            case Call() if node.function not in VECTOR_CALLS:
                calls += lanes
            case Select():
                simple += 2 * vectors
            case _:
                simple += 0.0 if fused else vectors
    return Operations(simple, divided, calls, divisions)


def _nodes(expr: Expr, parent: Expr | None = None) -> Iterator[tuple[Expr, bool]]:
    """All nodes but those of affine subscripts; whether one is a factor that an addition takes."""
    fused = (
        isinstance(expr, Binary) and expr.op == "mul" and expr.type.is_float
        and isinstance(parent, Binary) and parent.op in {"add", "sub"}
    )  # fmt: skip
    yield expr, fused
    children = expr.children
    if isinstance(expr, Load):
        children = tuple(index for index in expr.index if not isinstance(index, Affine))
    for child in children:
        yield from _nodes(child, expr)
