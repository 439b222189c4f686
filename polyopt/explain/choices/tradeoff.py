"""Memory against work: the plans of which none is better in both, with the chosen one among them.

Memory is what holds intermediate values, work the operations over those of the source. A plan that
leaves the threads without work is no better than one that feeds them, so that counts as well.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import guessed, rounded
from polyopt.arguments import checks_arguments
from polyopt.codegen.target import target as find_target
from polyopt.errors import InvalidOptionError, NotDecidedError, UserError
from polyopt.explain.choices.alternatives import ANSWER_BUDGET, memory_bytes, shared_iterations
from polyopt.explain.choices.placements import (
    PLACES,
    Layout,
    blocks_of,
    lay_out,
    layout_of,
    place_of,
    producers,
    rows_together,
)
from polyopt.isl import budget
from polyopt.oneline import at_sizes, one_line, some
from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.model.cost import Cost, cost
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.scheduler.model.table import human_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polyopt.codegen.target import Target
    from polyopt.explain.pictures.picture import Picture
    from polyopt.transform.plan import Plan

#: tiles and strips that uniform layouts are tried with
TILES = ((4, 64), (8, 128), (16, 256), (32, 512), (64, 1024))
STRIPS = (0, 32, 128, 512)
#: every combination of places is tried for so many producers
FEW = 2
#: layouts that a search may look at, times statements squared: some seconds
MOST = 2_500
#: a search looks at so many layouts at least: uniform ones, and mixtures by the size of arrays
LEAST = 12
#: shares of the producers, those with the largest arrays first, that are stored in full together
SHARES = (1 / 8, 1 / 4, 1 / 2)
#: beyond so many producers, inlining all of them grows expressions without end
MOST_INLINED = 16
#: iterations per core beyond which more do not count
PER_CORE = 4


@dataclass(frozen=True, eq=False)
class Point:
    """A plan by what it needs: ``memory`` in bytes, ``work`` over the source's, ``threads``."""

    plan: Plan
    bill: Cost
    layout: Layout
    memory: float
    work: float
    #: iterations that threads share in the nest that has the fewest; 1 leaves one thread
    threads: int
    chosen: bool = False

    @property
    def name(self) -> str:
        """Where it has the producers, and the rows of strips or the sizes of tiles:
        ``bx sliding 128``, ``2 inline, 9 scratch 16x256``."""
        found = {n: place_of(self.plan.program, n) for n in self.layout.places}
        if len(found) <= FEW:
            places = ", ".join(f"{n} {p}" for n, p in found.items())
        else:
            counts = {p: sum(q == p for q in found.values()) for p in PLACES}
            places = ", ".join(f"{n} {p}" for p, n in counts.items() if n)
        blocks = "x".join(map(str, blocks_of(self.plan.program)))
        rows = rows_together(self.plan.program)
        if rows > 1:
            places = places.replace("inline", f"inline, {rows} rows at once", 1)
        for place in ("scratch", "sliding"):
            places = places.replace(place, f"{place} {blocks}".rstrip())
        return places

    def __repr__(self) -> str:
        """Where its plan has the producers, what it needs, and what it does."""
        memory = f"{human_bytes(self.memory)} of memory"
        return one_line(
            self, self.plan.scop.name, self.name, memory, f"{self.work:.3f} times the work"
        )

    def as_dict(self) -> dict[str, object]:
        """The point for JSON."""
        return {
            "name": self.name, "memory": self.memory, "work": self.work, "threads": self.threads,
            "bytes_moved": self.bill.bytes_moved, "computed": dict(self.bill.repeated),
            "estimated": guessed({"work": self.work, **self.bill.repeated}),
            "chosen": self.chosen, "script": self.plan.script,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """Plans by memory and work. ``front`` holds those that no other beats; ``points`` all.

    ``str`` is a table, Jupyter shows the picture, and each point has its proven ``plan``.
    """

    program: str
    sizes: Mapping[str, int]
    points: tuple[Point, ...]
    front: tuple[Point, ...]
    #: the plan that was asked; it may lie behind the front
    chosen: Point
    #: layouts of large programs that were not weighed
    left_out: int = 0

    def __repr__(self) -> str:
        """The program, and how many plans there are to choose from."""
        weighed = f"{some(len(self.points), 'plan')} weighed"
        front = f"{len(self.front)} on the front"
        return one_line(self, at_sizes(self.program, self.sizes), weighed, front)

    def __iter__(self) -> Iterator[Point]:
        """The front, from the least memory to the most."""
        return iter(self.front)

    def __len__(self) -> int:
        """Points on the front."""
        return len(self.front)

    def __getitem__(self, number: int) -> Point:
        """A point of the front, as the table numbers them from 1.

        Raises ``InvalidOptionError`` where there is none of that number.
        """
        if not 1 <= number <= len(self.front):
            message = f"there is no point {number}"
            raise InvalidOptionError(message, hint=f"the points are 1 to {len(self.front)}")
        return self.front[number - 1]

    def within(self, memory: float) -> Point:
        """The point with the least work that needs at most ``memory`` bytes.

        Raises ``InvalidOptionError`` where all need more.
        """
        fitting = [p for p in self.front if p.memory <= memory]
        if not fitting:
            message = f"no plan keeps its intermediate values in {human_bytes(memory)}"
            least = human_bytes(self.front[0].memory)
            raise InvalidOptionError(message, hint=f"the least is {least}")
        return min(fitting, key=lambda p: (p.work, -p.threads, p.memory))

    def as_dict(self) -> dict[str, object]:
        """The front for JSON; ``script`` is the plan of a point."""
        return {"program": self.program, "sizes": dict(self.sizes),
                "front": [p.as_dict() for p in self.front],
                "chosen": self.chosen.as_dict(), "weighed": len(self.points),
                "left_out": self.left_out}  # fmt: skip

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The front as texts: number, memory, work, threads, bytes moved, what it is."""
        shown = self.front if self.chosen in self.front else (*self.front, self.chosen)
        for number, point in enumerate(shown, 1):
            mark = f"{number}{'*' if point.chosen else ''}" if point in self.front else "*"
            yield (
                mark, human_bytes(point.memory), f"{point.work:.3f}", f"{point.threads:,}",
                human_bytes(point.bill.bytes_moved), point.name,
            )  # fmt: skip

    def __str__(self) -> str:
        """A table of at most 80 columns; ``*`` marks the plan that was asked."""
        sizes = ", ".join(f"{k}={v}" for k, v in self.sizes.items())
        lines = [f"memory against work: {self.program}  {sizes}"[:80], _line(HEAD)]
        lines += [_line(row) for row in self.rows()]
        return "\n".join([*lines, *self.notes()])

    def notes(self) -> tuple[str, ...]:
        """What the table does not show: that more could have been weighed."""
        if not self.left_out:
            return ()
        weighed = len(self.points)
        return (
            f"{weighed} of {weighed + self.left_out} layouts were weighed: producers all alike, or",
            'the largest arrays in full; alternatives("name") weighs a single one',
        )

    def picture(self) -> Picture:
        """The front drawn: memory across, in powers of ten, work upwards."""
        from polyopt.explain.pictures.plots import draw_tradeoff

        return draw_tradeoff(self)

    def _repr_html_(self) -> str:
        from polyopt.explain.jupyter import tradeoff_html

        return tradeoff_html(self)


#: titles of the columns of ``rows``
HEAD = ("", "memory", "work", "threads", "bytes moved", "plan")


def _line(cells: Sequence[str]) -> str:
    number, memory, work, threads, moved, name = cells
    return f"{number:<4}{memory:>8}{work:>8}{threads:>9}{moved:>13}  {name[:36]}"


@checks_arguments
def tradeoff(
    plan: Plan,
    sizes: Mapping[str, int] | None = None,
    *,
    target: str | Target = "native",
    progress: Callable[[int, int], None] | None = None,
) -> Tradeoff:
    """The front of memory against work around a plan, every point proven.

    ``progress`` hears how many of how many plans were weighed.
    """
    known = assumed_sizes(plan.scop, sizes)
    machine = find_target(target) if isinstance(target, str) else target
    layout = layout_of(plan)
    with budget(ANSWER_BUDGET, f"the cost of {plan.scop.name}"):
        chosen = replace(_point(plan, layout, known, machine), chosen=True)
    every = tuple(
        {repr(other): other for other in _layouts(layout, _by_size(plan, known))}.values()
    )
    layouts = every[: max(LEAST, MOST // len(plan.scop.statements) ** 2)]
    points = [chosen]
    allowed = budget(ANSWER_BUDGET, "the trade-offs")
    for number, other in enumerate(layouts, 1):
        with suppress(NotDecidedError), allowed:
            laid = lay_out(plan.scop, other, known, machine)
            points.append(_point(laid.plan, other, known, machine))
        if progress is not None:
            progress(number, len(layouts))
    enough = PER_CORE * machine.cores
    proven = _proven(points, enough)
    left_out = len(every) + 1 - len(points)
    return Tradeoff(plan.scop.name, known, tuple(points), proven, chosen, left_out)


def _by_size(plan: Plan, sizes: Mapping[str, int]) -> list[str]:
    """The producers, those with the largest arrays first."""
    found = {n: array_bytes(plan.scop.array(n), sizes) for n in producers(plan.scop)}
    return sorted(found, key=lambda name: -found[name])


def _layouts(chosen: Layout, names: Sequence[str]) -> Iterator[Layout]:
    """Layouts to weigh, those first that tell most: uniform ones, the largest arrays in full, all
    for a few producers, and neighbours of the chosen one."""
    inlined = () if len(names) > MOST_INLINED else ("inline", "element")
    uniform = [replace(chosen, places=dict.fromkeys(chosen.places, place))
               for place in ("root", "sliding", "scratch", *inlined)]  # fmt: skip
    yield from uniform
    # the smallest and the largest blocks of each before those between
    sized = [list(_sized(same)) for same in uniform]
    yield from (part[end] for part in sized for end in (0, -1))
    for share in SHARES:
        largest = dict.fromkeys(names[: round(len(names) * share)], "root")
        if len(names) > FEW and largest:
            yield replace(chosen, places={**chosen.places, **largest})
    yield from (layout for part in sized for layout in part)
    yield from _sized(chosen)
    if len(names) <= FEW:
        for places in product(PLACES, repeat=len(names)):
            yield from _sized(Layout(dict(zip(chosen.places, places, strict=True))))
    for name in names:
        yield from (chosen.with_place(name, p) for p in PLACES if p != chosen.places[name])


def _sized(layout: Layout) -> Iterator[Layout]:
    """A layout with several sizes of the blocks that it uses."""
    places = set(layout.places.values())
    if "scratch" in places:
        yield from (replace(layout, tile=tile) for tile in TILES)
    elif "sliding" in places:
        yield from (replace(layout, strip=strip) for strip in STRIPS)
    else:
        yield layout


def _point(plan: Plan, layout: Layout, sizes: Mapping[str, int], machine: Target) -> Point:
    bill = cost(plan.program, sizes, machine)
    threads = shared_iterations(plan, bill)
    return Point(
        plan, bill, layout, memory_bytes(plan, bill), rounded(bill.work_repeated, 6), threads
    )


def _proven(points: Sequence[Point], enough: int) -> tuple[Point, ...]:
    """The points that none beats, each proven; one that is refused makes room for others."""
    refused: set[Point] = set()
    proven: set[Point] = set()
    while True:
        front = _front([p for p in points if p not in refused], enough)
        waiting = [p for p in front if p not in proven]
        if not waiting:
            return tuple(sorted(front, key=lambda p: (p.memory, p.work)))
        for point in waiting:
            try:
                point.plan.prove()
                proven.add(point)
            except UserError:
                refused.add(point)


def _front(points: Sequence[Point], enough: int) -> list[Point]:
    """The points that no other equals or beats in memory, work and threads; of equals the first."""

    def key(point: Point) -> tuple[float, float, int]:
        return point.memory, point.work, -min(point.threads, enough)

    result: dict[tuple[float, float, int], Point] = {}
    keys = {key(p) for p in points}
    for point in points:
        own = key(point)
        beaten = any(
            other != own and all(a <= b for a, b in zip(other, own, strict=True)) for other in keys
        )
        if not beaten:
            result.setdefault(own, point)
    return list(result.values())
