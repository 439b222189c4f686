"""Overlapped tiling: tile each result, and pull what it needs into its tiles.

For each live-out space (then each space that stayed): loops that no producer's footprint
follows go inside; the last two of the others are tiled; producers join in reverse topological
order while the tile's buffers fit the cache and repeated work stays small.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil, prod
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.errors import UserError
from polyopt.isl import PwAff, constant_value, dim_type, integer_val
from polyopt.scheduler.context import Budget, SearchContext
from polyopt.scheduler.model.op_cost import work
from polyopt.scheduler.queries import in_groups, is_ready, next_root, producers_of
from polyopt.transform.loops.interchange import perfect_chain
from polyopt.transform.schedule.query import copies_of, loops_around
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import copies_in
from polyopt.transform.storage.fuse import extension

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: work that overlap between tiles may repeat, per producer (MLIR's affine fusion allows 1.3)
MOST_REPEATED = 1.35
#: rows shorter than this many bytes waste the hardware's prefetching
SHORTEST_RUN = 1024


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
    probe = _Probe(plan, model, root, around, tuple(follow), budget)
    while True:
        found = _best(probe)
        if found is not None:
            return found[0].plan, _numbered(found[0], found[1], probe)
        again = {a: factor for a, factor in probe.least.items() if factor > MOST_REPEATED}
        if not again.keys() - probe.excluded.keys():
            reason = "no tile keeps repeated work and buffers within bounds"
            return plan, [Remark("refused", "fuse", p, reason, root) for p in candidates]
        probe.excluded.update(again)
        probe.built.clear()
        probe.measured.clear()


def _best(probe: _Probe) -> tuple[_Grown, dict[str, dict[str, float]]] | None:
    """The cheapest tiling."""
    best: tuple[float, dict[str, int], dict[str, dict[str, float]]] | None = None
    _ = probe.grown(_base({loop.name: 0 for loop in probe.follow[-2:]}))  # says who has room
    for sizes in _tilings(list(probe.follow)):
        weighed = _weigh(probe, sizes)
        if weighed is not None and (best is None or weighed[0] < best[0]):
            best = (weighed[0], sizes, weighed[1])
    grown = _grow(probe, best[1]) if best is not None else None
    return (grown, best[2]) if grown is not None and best is not None else None


def _numbered(
    grown: _Grown, numbers: Mapping[str, Mapping[str, float]], probe: _Probe
) -> list[Remark]:
    reason = "too much of it would be computed again"
    left_out = [
        Remark("refused", "fuse", a, reason, probe.root, numbers={"recompute": round(factor, 3)})
        for a, factor in probe.excluded.items()
    ]
    return [*(replace(r, numbers=numbers.get(r.subject, {})) for r in grown.remarks), *left_out]


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


def _tilings(follow: list[PlanLoop]) -> list[dict[str, int]]:
    """Candidate tile sizes, by loop name; an absent loop is not tiled (full rows)."""
    tiled = follow[-2:]
    if len(tiled) == 1:
        return [{tiled[0].name: size} for size in (8, 16, 32, 64, 128, 256)]
    rows, columns = tiled
    heights, widths = (4, 8, 16, 32, 64, 128), (0, 256, 512, 1024, 2048)
    return [
        {rows.name: height, **({columns.name: width} if width else {})}
        for height in heights
        for width in widths
    ]


@dataclass(frozen=True, eq=False)
class _Grown:
    """A tiling with every producer fused that could be."""

    plan: Plan
    at: str
    remarks: tuple[Remark, ...]


@dataclass(frozen=True, eq=False)
class _Probe:
    """A root whose tilings are compared. Buffers grow linearly with the tile, so a few tilings
    tell the extents of all."""

    plan: Plan
    model: SearchContext
    root: str
    around: tuple[PlanLoop, ...]
    follow: tuple[PlanLoop, ...]
    budget: Budget
    #: producers that had no room in the first tiling
    beyond: set[str] = field(default_factory=set[str])
    built: dict[tuple[tuple[str, int], ...], _Grown | None] = field(
        default_factory=dict[tuple[tuple[str, int], ...], "_Grown | None"]
    )

    #: buffer extents per array of the tilings that were built
    measured: dict[tuple[tuple[str, int], ...], dict[str, list[float]] | None] = field(
        default_factory=dict[tuple[tuple[str, int], ...], "dict[str, list[float]] | None"]
    )
    #: producers left out because every tiling computes them too often, and how often at least
    excluded: dict[str, float] = field(default_factory=dict[str, float])
    least: dict[str, float] = field(default_factory=dict[str, float])

    def grown(self, sizes: Mapping[str, int]) -> _Grown | None:
        """The tiling of these sizes, built once."""
        key = tuple(sorted(sizes.items()))
        if key not in self.built:
            self.built[key] = _grow(self, dict(sizes))
        return self.built[key]

    def extents(self, sizes: Mapping[str, int]) -> dict[str, list[float]] | None:
        """Buffer extents per array under a tiling, extrapolated from tiles of 32 and 64 (rows),
        512 and 1024 (columns)."""
        base = _base(sizes)
        start = self._measured(base)
        if start is None:
            return None
        result = {array: list(extents) for array, extents in start.items()}
        for name, size in sizes.items():
            wider = self._measured({**base, name: 2 * base[name]})
            if wider is None or wider.keys() != start.keys():
                return None
            for array, extents in start.items():
                for d, extent in enumerate(extents):
                    slope = (wider[array][d] - extent) / base[name]
                    result[array][d] += slope * (size - base[name])
        return result

    def _measured(self, sizes: Mapping[str, int]) -> dict[str, list[float]] | None:
        key = tuple(sorted(sizes.items()))
        if key not in self.measured:
            grown = self.grown(sizes)
            self.measured[key] = grown and _buffers(grown.plan.program, grown.at, self.model)
        return self.measured[key]


def _base(sizes: Mapping[str, int]) -> dict[str, int]:
    """The tiling of the same loops that extents are extrapolated from."""
    last = list(sizes)[-1]
    return {name: 512 if len(sizes) > 1 and name == last else 32 for name in sizes}


def _buffers(program: ScheduledProgram, at: str, model: SearchContext) -> dict[str, list[float]]:
    """Extents of the buffers at a loop, by array."""
    return {
        s.array: [_number(e, model.sizes) for e in program.scratch_of(s).extents]
        for s in program.stores
        if s.at == at
    }


def _is_full(probe: _Probe, program: ScheduledProgram, at: str) -> bool:
    """Whether the buffers at a loop take what a group may take of the cache."""
    scop, model = probe.plan.scop, probe.model
    buffers = _buffers(program, at, model)
    return sum(prod(b) * scop.array(a).type.bytes for a, b in buffers.items()) > _room(model)


def _room(model: SearchContext) -> float:
    """Bytes of the second-level cache that the buffers of a group may take."""
    return model.target.l2_bytes / 2


def _grow(probe: _Probe, sizes: dict[str, int]) -> _Grown | None:
    """The tiling with all producers that can join; ``None`` if none can."""
    root = probe.root
    try:
        tiled, at = _tiled(probe, sizes)
    except UserError:
        return None
    remarks: list[Remark] = []
    fused: list[str] = []
    is_first = not probe.built  # later tilings take the members of the first
    left_out = {*probe.excluded, *probe.beyond}
    while probe.budget.left > 0:
        inside = {root, *fused}
        left_out |= {r.subject for r in remarks}
        waiting = [
            p
            for p in producers_of(tiled.program, inside)
            if p not in left_out and is_ready(tiled.program, p, inside)
        ]
        if not waiting:
            break
        producer = waiting[0]
        probe.budget.left -= 1
        try:
            larger = tiled.fuse(producer, into=root, at=at)
        except UserError as error:
            reason = error.diagnostic.message
            remarks.append(Remark("refused", "fuse", producer, reason, root, code=error.code))
            continue
        if is_first and _is_full(probe, larger.program, at):
            probe.beyond.add(producer)
            left_out.add(producer)
            continue
        tiled = larger
        fused.append(producer)
        remarks.append(Remark("applied", "fuse", producer, "computed in its tiles", root))
    reason = "the group's buffers would leave the cache"
    remarks += [Remark("refused", "fuse", p, reason, root) for p in sorted(probe.beyond)]
    return _Grown(tiled, at, tuple(remarks)) if fused else None


def _tiled(probe: _Probe, sizes: Mapping[str, int]) -> tuple[Plan, str]:
    """The root tiled, loops that matter outside; and the name of the loop to fuse at."""
    plan, follow = probe.plan, probe.follow
    inside = [loop for loop in probe.around if loop not in follow]
    outer = [loop for loop in follow[:-1] if loop.name not in sizes]
    rows = follow[-1:] if follow[-1].name not in sizes else ()
    wanted = (*outer, *(n for n in follow if n.name in sizes), *inside, *rows)
    order = list(dict.fromkeys(loop.name for loop in wanted))
    if len(order) > 1 and [n.name for n in perfect_chain(plan.program, order)] != order:
        plan = plan.reorder(*order)
    blocks = {n.iterator: sizes[n.name] for n in follow if n.name in sizes}
    plan = plan.tile(probe.root, **blocks)
    tiles = [n.name for n in loops_around(plan.program, probe.root) if n.blocks_of]
    return plan, tiles[-1]


def _weigh(
    probe: _Probe, sizes: Mapping[str, int]
) -> tuple[float, dict[str, dict[str, float]]] | None:
    """Relative cost of a tiling, and the numbers behind it per producer."""
    extents = probe.extents(sizes)
    return _cost(probe, sizes, extents) if extents else None


def _cost(
    probe: _Probe,
    sizes: Mapping[str, int],
    extents: Mapping[str, list[float]],
) -> tuple[float, dict[str, dict[str, float]]] | None:
    """Repeated work, short runs, buffers against the caches; ``None`` where out of bounds.

    ``extents`` are those of each producer's buffer.
    """
    scop, model = probe.plan.scop, probe.model
    iterations = _iterations(probe, sizes)
    total, repeated, weight, fits = 0.0, 0.0, 0.0, True
    numbers: dict[str, dict[str, float]] = {}
    for array, sides in extents.items():
        elements, once = prod(sides), prod(_whole(probe, array)) / iterations
        factor = max(1.0, elements / once) if once else 1.0
        probe.least[array] = min(factor, probe.least.get(array, factor))
        if factor > MOST_REPEATED:
            fits = False
        ops = max(sum(work(s.value) for s in scop.statements if s.array == array), 1.0)
        bytes_ = elements * scop.array(array).type.bytes
        total, repeated, weight = total + bytes_, repeated + (factor - 1.0) * ops, weight + ops
        numbers[array] = {"scratch bytes": bytes_, "recompute": round(factor, 3)}
    if not fits or total > _room(model):
        return None
    pressure = 0.15 * (total > model.target.l1_bytes) + 0.25 * total / model.target.l2_bytes
    short = 0.4 * max(0.0, 1.0 - _run(probe, sizes) / (4 * SHORTEST_RUN))
    few = 0.3 * (iterations < 4 * model.target.cores)
    return repeated / weight + pressure + short + few, numbers


def _whole(probe: _Probe, array: str) -> list[float]:
    return [_number(e, probe.model.sizes) for e in probe.plan.scop.array(array).extents]


def _run(probe: _Probe, sizes: Mapping[str, int]) -> float:
    """Bytes of one contiguous row of an output tile."""
    array = probe.plan.scop.array(probe.root)
    width = _whole(probe, probe.root)[-1] if array.rank else float("inf")
    last = probe.follow[-1].name
    return min(width, sizes.get(last, width)) * array.type.bytes


def _iterations(probe: _Probe, sizes: Mapping[str, int]) -> float:
    """How often the fusion loop's body runs in all."""
    result = 1.0
    for loop in probe.follow:
        if loop.name in sizes or loop is not probe.follow[-1]:
            result *= ceil(_trips(probe, loop) / sizes.get(loop.name, 1))
    return result


def _trips(probe: _Probe, loop: PlanLoop) -> float:
    copy = copies_in(loop)[-1]
    value = loop.values[copy].intersect_domain(probe.plan.program.copies[copy].domain)
    return float(max(about(value.as_map().range(), probe.model.sizes), 1))


def _number(extent: PwAff, sizes: Mapping[str, int]) -> float:
    """A parametric extent at the model's sizes."""
    number = constant_value(extent)
    if number is not None:
        return float(number)
    value = extent
    for position in range(value.dim(dim_type.param)):
        name = value.get_dim_name(dim_type.param, position) or ""
        point = integer_val(sizes.get(name, 1))
        universe = value.domain().params().fix_val(dim_type.param, position, point)
        value = value.intersect_params(universe)
    top = value.max_val()
    return float(top.to_python()) if top.is_int() else 1.0
