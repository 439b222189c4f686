"""A sweep of tile sizes: what the model predicts of each beside the time that it takes.

The automatic plan is made again with every size of a grid in place of its own: rows of strips or
tiles, and columns, or rows left whole. All forms take turns within one run. How well the model
knows what matters, the rank correlation of its estimates with the times tells; what its choice
costs, how far that lies behind the best of the grid.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from polyopt.analysis.sets.points import parameter_value
from polyopt.bench.tuning.retile import retiled
from polyopt.codegen.target import native_target
from polyopt.errors import InvalidOptionError
from polyopt.isl import dim_type
from polyopt.runtime.measuring.alternate import Subject, alternate
from polyopt.runtime.measuring.arguments import CallArguments, inputs_for
from polyopt.scheduler import auto
from polyopt.scheduler.model.time import predict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polyopt.bench.runner import Subjects
    from polyopt.ir.scop import Scop
    from polyopt.runtime.measuring.alternate import Sample
    from polyopt.transform.plan import Plan

#: rows and columns that are tried; 0 leaves rows whole
ROWS = (8, 32, 128, 512)
COLUMNS = (0, 64, 128, 256, 512, 1024)
#: so many of the fastest are measured once more, in turn with the model's choice: the least of
#: many medians is low by luck
FINALISTS = 3

HEADINGS = (
    ("rows", "right"), ("columns", "right"), ("predicted ms", "right"), ("median ms", "right"),
    ("iqr", "right"), ("to best", "right"), ("", "left"),
)  # fmt: skip


@dataclass(frozen=True)
class Point:
    """Sizes, the model's estimate and the median, in milliseconds a call."""

    rows: int
    #: 0 where rows are whole
    columns: int
    estimate: float
    median_ms: float
    iqr_ms: float
    noisy: bool
    #: whether these are the sizes of the automatic plan
    chosen: bool

    @property
    def name(self) -> str:
        """``128 x 512``, or ``128 x whole``."""
        return f"{self.rows} x {self.columns or 'whole'}"


@dataclass(frozen=True)
class Sweep:
    """The points of one program on a number of threads."""

    program: str
    size: Mapping[str, int]
    threads: int
    points: tuple[Point, ...]

    @property
    def correlation(self) -> float:
        """Spearman's rank correlation of estimates and times; 0 where either has one value."""
        return spearman([p.estimate for p in self.points], [p.median_ms for p in self.points])

    @property
    def best(self) -> Point:
        """The fastest."""
        return min(self.points, key=lambda p: p.median_ms)

    @property
    def chosen(self) -> Point:
        """The automatic plan's own sizes."""
        return next(p for p in self.points if p.chosen)

    @property
    def behind(self) -> float:
        """How much longer the automatic plan takes than the best: 0.1 is 10 %."""
        return self.chosen.median_ms / self.best.median_ms - 1.0

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "program": self.program, "size": dict(self.size), "threads": self.threads,
            "spearman": self.correlation, "behind": self.behind,
            "points": [asdict(point) for point in self.points],
        }  # fmt: skip

    def summary(self) -> str:
        """The result in a line."""
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        return (
            f"{self.program}, {threads}: rank correlation {self.correlation:.2f}; the model's "
            f"choice {self.chosen.name} is {self.behind:.1%} behind the best, {self.best.name}"
        )


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    """The correlation of ranks, equal values sharing the mean of theirs (Spearman 1904)."""
    one, two = _ranks(first), _ranks(second)
    spread = float(one.std() * two.std())
    if not spread:
        return 0.0
    return float(((one - one.mean()) * (two - two.mean())).mean() / spread)


def _ranks(values: Sequence[float]) -> np.ndarray:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[place]


@dataclass(frozen=True)
class _Tiling:
    """A ``tile`` move of a plan and the iterators that its grid is over."""

    position: int
    sizes: Mapping[str, int]
    rows: str
    columns: str


def tilings(plan: Plan) -> tuple[_Tiling, ...]:
    """The moves that cut results into strips of rows, or into tiles.

    Raises ``InvalidOptionError`` where there are none.
    """
    found: list[_Tiling] = []
    for position, move in enumerate(plan.moves):
        if move.name != "tile":
            continue
        sizes = dict(move.options)
        columns = _contiguous(plan.scop, move.args[0])
        rows = [name for name in sizes if name != columns]
        if columns and rows:
            found.append(_Tiling(position, sizes, rows[-1], columns))
    if not found:
        message = f"the plan of {plan.scop.name} has neither strips nor tiles to sweep"
        raise InvalidOptionError(message, hint="polyopt tune measures other plans of it")
    return tuple(found)


def _contiguous(scop: Scop, space: str) -> str:
    """The iterator along contiguous elements of what a space writes; "" where there is none."""
    statement = next((s for s in scop.statements if s.array == space), None)
    if statement is None or not statement.index:
        return ""
    last = statement.index[-1].form
    along = [
        name for k, name in enumerate(statement.iterators) if last.involves_dims(dim_type.in_, k, 1)
    ]
    return along[0] if len(along) == 1 else ""


def grid(plan: Plan, sizes: Mapping[str, int]) -> Iterator[tuple[int, int, bool]]:
    """Rows, columns, and whether they are the plan's own, for sizes of arrays.

    Sizes that one tile fills are left out, except that columns may be whole.
    """
    (*_, last) = tilings(plan)
    root = plan.scop.array(plan.moves[last.position].args[0])
    tall, wide = (
        [parameter_value(extent, sizes) for extent in root.extents][-2:]
        if root.rank > 1
        else [max(ROWS) + 1, parameter_value(root.extents[-1], sizes)]
    )
    own = last.sizes[last.rows], last.sizes.get(last.columns, 0)
    for rows in sorted({own[0], *(r for r in ROWS if r < tall)}):
        for columns in sorted({own[1], *(c for c in COLUMNS if c < wide)}):
            yield rows, columns, (rows, columns) == own


def resized(plan: Plan, rows: int, columns: int, sizes: Mapping[str, int]) -> Plan | None:
    """The plan with other rows and columns in all its tilings; ``None`` where they do not fit."""
    changes: dict[int, dict[str, int]] = {}
    for tiling in tilings(plan):
        wanted = {**tiling.sizes, tiling.rows: rows}
        if columns:
            wanted[tiling.columns] = columns
        elif tiling.columns in wanted:  # later moves name its loop: one tile is as wide as a row
            space = plan.moves[tiling.position].args[0]
            width = parameter_value(plan.scop.array(space).extents[-1], sizes)
            wanted[tiling.columns] = max(1, width)
        changes[tiling.position] = wanted
    return retiled(plan, changes)


def sweep(
    what: Subjects,
    *,
    threads: Sequence[int],
    seconds: float = 1.0,
    rounds: int | None = None,
    report: Callable[[int, int], object] | None = None,
) -> Iterator[Sweep]:
    """A program's sweep on each number of threads.

    Raises ``InvalidOptionError`` where its automatic plan has no tiles. ``report`` hears how many
    plans are compiled, of how many.
    """
    machine = native_target()
    own = auto(what.scop, sizes=what.sizes)
    plans: dict[tuple[int, int], Plan] = {}
    places = list(grid(own, what.sizes))
    for done, (rows, columns, is_own) in enumerate(places, 1):
        plan = own if is_own else resized(own, rows, columns, what.sizes)
        if plan is not None:
            plan.compile()
            plans[rows, columns] = plan
        if report is not None:
            report(done, len(places))
    chosen = next((rows, columns) for rows, columns, is_own in places if is_own)
    inputs = inputs_for(own.compile(), what.sizes, 0, what.library)
    for count in threads:
        samples = _measured(what, plans, inputs, count, seconds, rounds, chosen)
        found = [
            Point(
                *place, predict(plan.program, what.sizes, machine, count).ns / 1e6,
                samples[place].median_ms, samples[place].iqr_ms, samples[place].noisy,
                chosen=place == chosen,
            )
            for place, plan in plans.items()
        ]  # fmt: skip
        yield Sweep(what.name, dict(what.sizes), count, tuple(found))


def _measured(
    what: Subjects,
    plans: Mapping[tuple[int, int], Plan],
    inputs: Mapping[str, object],
    threads: int,
    seconds: float,
    rounds: int | None,
    chosen: tuple[int, int],
) -> dict[tuple[int, int], Sample]:
    """Times of all plans in turn, then of the fastest and the chosen one once more."""
    subjects: dict[str, Subject] = {}
    for place, plan in plans.items():
        kernel = plan.compile()
        call = CallArguments.make(kernel, dict(inputs), what.sizes)
        restore = call.restore if call.changes_inputs else None
        subjects[repr(place)] = Subject(call.bind(kernel, threads), restore)
    samples = alternate(subjects, seconds=seconds, rounds=rounds)
    ranked = sorted(samples, key=lambda name: samples[name].median_ms)
    names = dict.fromkeys([*ranked[:FINALISTS], repr(chosen)])
    last = alternate({name: subjects[name] for name in names}, seconds=seconds, rounds=rounds)
    # the others are seen through the same eyes: what the second run was faster or slower by
    drift = float(np.median([last[n].median_ms / samples[n].median_ms for n in names]))
    samples |= {
        name: replace(
            sample, median_ms=sample.median_ms / drift, min_ms=sample.min_ms / drift,
            iqr_ms=sample.iqr_ms / drift,
        )
        for name, sample in last.items()
    }  # fmt: skip
    return {place: samples[repr(place)] for place in plans}


def table(found: Sweep) -> Iterator[tuple[str, ...]]:
    """The cells of ``HEADINGS``, a row each."""
    least = found.best.median_ms
    for p in found.points:
        remarks = ["the model's choice"] * p.chosen + ["best"] * (p is found.best)
        yield (
            str(p.rows), str(p.columns or "whole"), f"{p.estimate:.3f}",
            f"{p.median_ms:.3f}{'~' if p.noisy else ' '}", f"{p.iqr_ms:.3f}",
            f"{p.median_ms / least:.2f}", ", ".join(remarks),
        )  # fmt: skip
