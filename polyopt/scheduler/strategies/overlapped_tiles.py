"""Overlapped tiling: tile each result, and pull what it needs into its tiles.

For each live-out space (then each space that stayed): loops that no producer's footprint follows go
inside; the last two of the others are tiled; producers join in reverse topological order while the
time model predicts that this pays. Sizes grow and shrink while it likes that better.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.isl import dim_type
from polyopt.scheduler.context import Budget
from polyopt.scheduler.model.cache import array_bytes, nest_name, private_bytes
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.model.objective import nests_apart, predicted, predicted_group
from polyopt.scheduler.queries import in_groups, is_ready, next_root, producers_of
from polyopt.transform.loops.interchange import perfect_chain
from polyopt.transform.schedule.query import copies_of, loops_around
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.storage.fuse import extension

if TYPE_CHECKING:
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: rows and columns that the search for sizes starts with, and the factor of its steps
ROWS, COLUMNS, FACTOR = 32, 512, 4


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
    near, candidates = _candidates(program, root, around, model)
    if not around or not candidates:
        return plan, near
    if any(loop.mark == "unroll" for loop in around):  # a tile of them would be unrolled, too
        reason = "rows of its reader are unrolled in blocks already"
        return plan, [*near, *(Remark("refused", "fuse", p, reason, root) for p in candidates)]
    follow = _followed(program, candidates, around)
    if not follow:
        return plan, near
    best = _Tiling(plan, model, root, around, tuple(follow), budget).best()
    numbers = {"saved ns": best.saved} if best else {}
    if best is None or best.saved <= 0:
        reason = "no tile is predicted to take less time"
        said = [Remark("refused", "fuse", p, reason, root, numbers=numbers) for p in candidates]
        return plan, [*near, *said]
    fused = [
        Remark("applied", "fuse", p, "computed in its tiles", root, numbers=numbers)
        for p in best.fused
    ]
    return best.plan, [*near, *fused, *best.remarks]


def _candidates(
    program: ScheduledProgram, root: str, around: tuple[PlanLoop, ...], model: SearchContext
) -> tuple[list[Remark], list[str]]:
    """The producers that tiles may keep near, and remarks on those that caches keep anyway."""
    near: list[Remark] = []
    found: list[str] = []
    for producer in producers_of(program, {root}):
        size = array_bytes(program.scop.array(producer), model.sizes)
        if not _apart(program, producer, around):
            continue
        if size > model.target.l2_bytes:
            found.append(producer)
            continue
        reason = "it stays in the cache anyway"
        numbers = {"bytes": float(size)}
        near.append(Remark("refused", "fuse", producer, reason, root, numbers=numbers))
    return near, found


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
    """A root in tiles with the producers that joined, and the nanoseconds that this saves one
    thread; less where there are not enough tiles for all."""

    plan: Plan
    fused: tuple[str, ...]
    remarks: tuple[Remark, ...]
    saved: float


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
        improved = True
        while improved:
            improved = False
            for other in self._near(sizes):
                found = self._tried(other)
                if found is not None and (best is None or found.saved > best.saved):
                    best, sizes, improved = found, other, True
        return best

    def _near(self, sizes: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Each size times and by the factor; columns may be left whole, which is 0."""
        found: list[tuple[int, ...]] = []
        for k, size in enumerate(sizes):
            smaller, larger = size // FACTOR, min(size * FACTOR, self._most(k))
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
        saved = predicted_group(self.plan, self.model, self.root, ())
        saved -= predicted_group(plan, self.model, self.root, (), at)
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
            joined = self._joined(plan, waiting[0], at)
            if isinstance(joined, Remark):
                refused.append(joined)
                continue
            plan, less = joined
            saved += less
            fused.append(waiting[0])
        return _Tiled(plan, tuple(fused), tuple(refused), saved) if fused else None

    def _joined(self, plan: Plan, producer: str, at: str) -> tuple[Plan, float] | Remark:
        """The plan with a producer in its tiles, and the nanoseconds saved; or why not."""
        try:
            larger = plan.fuse(producer, into=self.root, at=at)
            held = float(private_bytes(larger.program, at, self.model.sizes))
            if held > self.model.target.l2_bytes:
                reason, numbers = "the group's buffers would leave the cache", {"bytes": held}
                return Remark("refused", "fuse", producer, reason, self.root, numbers=numbers)
            before = predicted_group(plan, self.model, self.root, (), at)
            before += self._alone(plan, producer)
            taken = predicted_group(larger, self.model, self.root, (producer,), at)
        except UserError as error:
            reason, code = error.diagnostic.message, error.code
            return Remark("refused", "fuse", producer, reason, self.root, code=code)
        if taken < before:
            return larger, before - taken
        numbers = {"predicted ns": taken, "instead of": before, "scratch bytes": held}
        reason = "in tiles it is predicted to take longer"
        return Remark("refused", "fuse", producer, reason, self.root, numbers=numbers)

    def _alone(self, plan: Plan, producer: str) -> float:
        """Nanoseconds of the nests that a producer has still. Where tiles have left them as they
        were, they take what they took before, whatever the sizes of tiles."""
        nests = nests_apart(plan.program, self.root, (producer,))
        if not nests:
            return 0.0
        here, before = (
            [node for node in p.program.tree if nest_name(node) in nests] for p in (plan, self.plan)
        )
        is_same = len(here) == len(before) and all(
            a is b for a, b in zip(here, before, strict=True)
        )
        return predicted(self.plan if is_same else plan, self.model, threads=1, nests=nests)

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
