"""Overlapped tiling: tile each result, and pull what it needs into its tiles.

For each live-out space (then each space that stayed): loops that no producer's footprint follows go
inside; the last two of the others are tiled; producers join in reverse topological order while the
time model predicts that this pays. Sizes are doubled and halved while it likes that better.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil, prod
from typing import TYPE_CHECKING

from polyopt.analysis.sets.points import parameter_value
from polyopt.errors import UserError
from polyopt.isl import dim_type
from polyopt.scheduler.context import Budget
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.model.objective import predicted
from polyopt.scheduler.queries import in_groups, is_ready, next_root, producers_of
from polyopt.transform.loops.interchange import perfect_chain
from polyopt.transform.schedule.query import copies_of, find_loop, loops_around
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.storage.fuse import extension

if TYPE_CHECKING:
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: rows and columns that the search for sizes starts with, and the factors that it tries
ROWS, COLUMNS, FACTORS = 32, 512, (4, 2)


def group(plan: Plan, model: SearchContext) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with producers fused into tiles of their consumers."""
    remarks: list[Remark] = []
    done = in_groups(plan.program)
    budget = Budget()
    while True:
        root = next_root(plan.program, done)
        if root is None:
            return plan, tuple(remarks)
        done.add(root)
        if budget.left <= 0:
            reason = "the search's budget of tried fusions is spent"
            remarks.append(Remark("not considered", "tile", root, reason))
            continue
        plan, said = _group_root(plan, model, root, budget)
        remarks += said


def _group_root(
    plan: Plan, model: SearchContext, root: str, budget: Budget
) -> tuple[Plan, list[Remark]]:
    program = plan.program
    around = loops_around(program, root)
    candidates = [p for p in producers_of(program, {root}) if _apart(program, p, around)]
    if not around or not candidates:
        return plan, []
    if any(loop.mark == "unroll" for loop in around):  # a tile of them would be unrolled, too
        reason = "rows of its reader are unrolled in blocks already"
        return plan, [Remark("refused", "fuse", p, reason, root) for p in candidates]
    follow = _followed(program, candidates, around)
    if not follow:
        return plan, []
    tiling = _Tiling(plan, model, root, around, tuple(follow), budget)
    best = tiling.best()
    before = predicted(plan, model, threads=1)
    if best is None or best.time >= before:
        reason = "no tile is predicted to take less time"
        numbers = {"predicted ns": best.time, "instead of": before} if best else {}
        return plan, [
            Remark("refused", "fuse", p, reason, root, numbers=numbers) for p in candidates
        ]
    numbers = {"predicted ns": best.time, "instead of": before}
    fused = [
        Remark("applied", "fuse", p, "computed in its tiles", root, numbers=numbers)
        for p in best.fused
    ]
    return best.plan, [*fused, *best.remarks]


def _apart(program: ScheduledProgram, producer: str, around: tuple[PlanLoop, ...]) -> bool:
    """Whether the producer's nest shares no loop with the consumer's."""
    names = {loop.name for loop in around}
    return not any(
        loop.name in names
        for copy in copies_of(program, producer)
        for loop in program.places[copy].loops
    )


def _followed(
    program: ScheduledProgram, producers: list[str], around: tuple[PlanLoop, ...]
) -> list[PlanLoop]:
    """The loops around the root that some producer's footprint moves with."""
    result: list[PlanLoop] = []
    for producer in producers:
        # what other groups compute of it are copies of these
        names = tuple(c for c in copies_of(program, producer) if not program.copies[c].outer)
        try:
            needed = extension(program, producer, names, around[-1].name).needed
        except UserError:
            continue
        free = needed.gist_domain(needed.domain())
        result += [
            loop
            for level, loop in enumerate(around)
            if free.involves_dims(dim_type.in_, level, 1) and loop not in result
        ]
    return [loop for loop in around if loop in result]


@dataclass(frozen=True, eq=False)
class _Tiled:
    """A root in tiles with the producers that joined, and its time: nanoseconds of one thread,
    longer where there are not enough tiles for all."""

    plan: Plan
    fused: tuple[str, ...]
    remarks: tuple[Remark, ...]
    time: float


@dataclass(frozen=True, eq=False)
class _Tiling:
    """A root whose tile sizes are searched."""

    plan: Plan
    model: SearchContext
    root: str
    around: tuple[PlanLoop, ...]
    follow: tuple[PlanLoop, ...]
    budget: Budget
    #: what was tried, by sizes
    known: dict[tuple[int, ...], _Tiled | None] = field(
        default_factory=dict[tuple[int, ...], "_Tiled | None"]
    )

    def best(self) -> _Tiled | None:
        """The tiling that is predicted to take least, of those that steps lead to."""
        tiled = self.follow[-2:]
        sizes = (COLUMNS,) if len(tiled) == 1 else (ROWS, COLUMNS)
        best = self._tried(sizes)
        for factor in FACTORS:
            improved = True
            while improved:
                improved = False
                for other in self._near(sizes, factor):
                    found = self._tried(other)
                    if found is not None and (best is None or found.time < best.time):
                        best, sizes, improved = found, other, True
        return best

    def _near(self, sizes: tuple[int, ...], factor: int) -> list[tuple[int, ...]]:
        """Each size times and by a factor; columns may be left whole, which is 0."""
        found: list[tuple[int, ...]] = []
        for k, size in enumerate(sizes):
            smaller, larger = size // factor, min(size * factor, self._most(k))
            others = {smaller, larger} - {0, size}
            if k:
                others |= {0, COLUMNS} - {size}
            found += [(*sizes[:k], other, *sizes[k + 1 :]) for other in sorted(others)]
        return found

    def _most(self, k: int) -> int:
        """Iterations of a loop that is tiled: no tile is longer."""
        loop = self.follow[-2:][k]
        return max(1, round(trips(self.plan.program, loop, self.model.sizes)))

    def _tried(self, sizes: tuple[int, ...]) -> _Tiled | None:
        if sizes not in self.known:
            self.known[sizes] = self._grown(sizes)
        return self.known[sizes]

    def _grown(self, sizes: tuple[int, ...]) -> _Tiled | None:
        """The tiling with every producer that can join, and pays; ``None`` without any."""
        try:
            plan, at = self._cut(sizes)
        except UserError:
            return None
        fused: list[str] = []
        refused: list[Remark] = []
        time = self._time(plan, at)
        while self.budget.left > 0:
            inside = {self.root, *fused}
            waiting = [
                p
                for p in producers_of(plan.program, inside)
                if p not in {r.subject for r in refused} and is_ready(plan.program, p, inside)
            ]
            if not waiting:
                break
            self.budget.left -= 1
            joined = self._joined(plan, waiting[0], at, time)
            if isinstance(joined, Remark):
                refused.append(joined)
                continue
            plan, time = joined
            fused.append(waiting[0])
        return _Tiled(plan, tuple(fused), tuple(refused), time) if fused else None

    def _joined(
        self, plan: Plan, producer: str, at: str, time: float
    ) -> tuple[Plan, float] | Remark:
        """The plan with a producer in its tiles, and its time; or why not."""
        try:
            larger = plan.fuse(producer, into=self.root, at=at)
        except UserError as error:
            reason, code = error.diagnostic.message, error.code
            return Remark("refused", "fuse", producer, reason, self.root, code=code)
        taken = self._time(larger, at)
        if taken < time:
            return larger, taken
        scratch = larger.program.scratches[-1]
        width = plan.scop.array(producer).type.bytes
        extents = (parameter_value(e, self.model.sizes) for e in scratch.extents)
        numbers = {
            "predicted ns": taken, "instead of": time, "scratch bytes": float(width * prod(extents))
        }  # fmt: skip
        reason = "in tiles it is predicted to take longer"
        return Remark("refused", "fuse", producer, reason, self.root, numbers=numbers)

    def _time(self, plan: Plan, at: str) -> float:
        loop = find_loop(plan.program, at)
        path = loops_around(plan.program, self.root)
        tiles = prod(trips(plan.program, n, self.model.sizes) for n in path[: path.index(loop) + 1])
        cores = self.model.target.cores
        alone = ceil(tiles / cores) * cores / max(1.0, tiles)
        return predicted(plan, self.model, threads=1) * alone

    def _cut(self, sizes: tuple[int, ...]) -> tuple[Plan, str]:
        """The root tiled, loops that matter outside; and the name of the loop to fuse at."""
        plan, follow = self.plan, self.follow
        tiled = {n.name: s for n, s in zip(follow[-2:], sizes, strict=True) if s}
        inside = [loop for loop in self.around if loop not in follow]
        outer = [loop for loop in follow[:-1] if loop.name not in tiled]
        rows = follow[-1:] if follow[-1].name not in tiled else ()
        wanted = (*outer, *(n for n in follow if n.name in tiled), *inside, *rows)
        order = list(dict.fromkeys(loop.name for loop in wanted))
        if len(order) > 1 and [n.name for n in perfect_chain(plan.program, order)] != order:
            plan = plan.reorder(*order)
        blocks = {n.iterator: tiled[n.name] for n in follow if n.name in tiled}
        plan = plan.tile(self.root, **blocks)
        return plan, [n.name for n in loops_around(plan.program, self.root) if n.blocks_of][-1]
