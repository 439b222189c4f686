"""Output-driven grouping: tile each result, and pull what it needs into its tiles.

For each live-out space (then each space that stayed): loops that no producer's footprint
follows go inside; the last two of the others are tiled; producers join in reverse topological
order while the tile's buffers fit the cache and repeated work stays small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.auto.work import work
from polyopt.errors import PolyoptError
from polyopt.isl import constant_value, dim_type
from polyopt.transform.find import copies_of, loops_around, path_to
from polyopt.transform.fuse import extension, fuse
from polyopt.transform.interchange import perfect_chain, reorder
from polyopt.transform.remark import Remark
from polyopt.transform.tile import tile
from polyopt.transform.tree import copies_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.target import Target
    from polyopt.transform.program import Program
    from polyopt.transform.tree import PlanLoop

#: work that overlap between tiles may repeat, per producer (MLIR's affine fusion allows 1.3)
MOST_REPEATED = 1.35
#: rows shorter than this many bytes waste the hardware's prefetching
SHORTEST_RUN = 1024


@dataclass(frozen=True)
class Model:
    """What the choices are weighed with."""

    target: Target
    sizes: Mapping[str, int]


def group(program: Program, model: Model) -> tuple[Program, tuple[Remark, ...]]:
    """The program with producers fused into tiles of their consumers."""
    remarks: list[Remark] = []
    done: set[str] = set()
    while True:
        root = _next_root(program, done)
        if root is None:
            return program, tuple(remarks)
        done.add(root)
        program, said = _group_root(program, model, root)
        remarks += said


def _next_root(program: Program, done: set[str]) -> str | None:
    """The last space in textual order that is a root still: not fused into another."""
    spaces = [program.copies[name].statement.array for name in program.places
              if not program.copies[name].outer]  # fmt: skip
    open_ = [space for space in dict.fromkeys(reversed(spaces)) if space not in done]
    return open_[0] if open_ else None


def producers_of(program: Program, spaces: set[str]) -> list[str]:
    """Temporary arrays that the spaces read and that nests of their own write, latest first."""
    read = {
        t.access.array
        for t in program.read_events
        if program.copies[t.host].statement.array in spaces
    }
    order = [
        program.copies[name].statement.array
        for name in program.places
        if not program.copies[name].outer
    ]
    wanted = [a for a in dict.fromkeys(reversed(order)) if a in read and a not in spaces]
    return [a for a in wanted if program.scop.array(a).role == "temp"]


def _group_root(program: Program, model: Model, root: str) -> tuple[Program, list[Remark]]:
    around = loops_around(program, root)
    candidates = [p for p in producers_of(program, {root}) if _apart(program, p, around)]
    if not around or not candidates:
        return program, []
    follow = _followed(program, candidates, around)
    if not follow:
        return program, []
    best: tuple[float, Program, list[Remark]] | None = None
    for sizes in _tilings(program, model, around, follow):
        trial = _try(program, model, root, around, follow, sizes)
        if trial is not None and (best is None or trial[0] < best[0]):
            best = trial
    if best is None:
        reason = "no tile keeps repeated work and buffers within bounds"
        return program, [Remark("refused", "fuse", p, reason, root) for p in candidates]
    return best[1], best[2]


def _apart(program: Program, producer: str, around: tuple[PlanLoop, ...]) -> bool:
    """Whether the producer's nest shares no loop with the consumer's."""
    names = {loop.name for loop in around}
    return not any(
        loop.name in names
        for copy in copies_of(program, producer)
        for loop in program.places[copy].loops
    )


def _followed(
    program: Program, producers: list[str], around: tuple[PlanLoop, ...]
) -> list[PlanLoop]:
    """The loops around the root that some producer's footprint moves with."""
    result: list[PlanLoop] = []
    for producer in producers:
        try:
            needed = extension(
                program, producer, copies_of(program, producer), around[-1].name
            ).needed
        except PolyoptError:
            continue
        free = needed.gist_domain(needed.domain())
        result += [
            loop
            for level, loop in enumerate(around)
            if free.involves_dims(dim_type.in_, level, 1) and loop not in result
        ]
    return [loop for loop in around if loop in result]


def _tilings(
    program: Program, model: Model, around: tuple[PlanLoop, ...], follow: list[PlanLoop]
) -> list[dict[str, int]]:
    """Tile sizes to weigh, by loop name; an absent loop is not tiled (full rows)."""
    del program, model, around
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


def _try(
    program: Program,
    model: Model,
    root: str,
    around: tuple[PlanLoop, ...],
    follow: list[PlanLoop],
    sizes: dict[str, int],
) -> tuple[float, Program, list[Remark]] | None:
    """Cost, program and remarks of one tiling with all producers that fit; ``None`` if none do."""
    try:
        tiled, at = _tiled(program, root, around, follow, sizes)
    except PolyoptError:
        return None
    remarks: list[Remark] = []
    fused: list[str] = []
    while True:
        inside = {root, *fused}
        waiting = [
            p
            for p in producers_of(tiled, inside)
            if p not in [r.subject for r in remarks] and _ready(tiled, p, inside)
        ]
        if not waiting:
            break
        producer = waiting[0]
        try:
            tiled = fuse(tiled, producer, at)
        except PolyoptError as error:
            remarks.append(
                Remark("refused", "fuse", producer, error.diagnostic.message, root, code=error.code)
            )
            continue
        fused.append(producer)
        remarks.append(Remark("applied", "fuse", producer, "computed in its tiles", root))
    if not fused:
        return None
    weighed = _weigh(tiled, model, fused, at, sizes)
    if weighed is None:
        return None
    cost, numbers = weighed
    return cost, tiled, [replace(r, numbers=numbers.get(r.subject, {})) for r in remarks]


def _ready(program: Program, producer: str, inside: set[str]) -> bool:
    """Whether every reader of the producer is in the group already."""
    readers = {
        program.copies[t.host].statement.array
        for t in program.read_events
        if t.access.array == producer
    }
    return readers - {producer} <= inside


def _tiled(
    program: Program,
    root: str,
    around: tuple[PlanLoop, ...],
    follow: list[PlanLoop],
    sizes: dict[str, int],
) -> tuple[Program, str]:
    """The root tiled, loops that matter outside; and the name of the loop to fuse at."""
    inside = [loop for loop in around if loop not in follow]
    outer = [loop for loop in follow if loop.name not in sizes]
    untiled_last = [loop for loop in follow[-1:] if loop.name not in sizes]
    outer = [loop for loop in outer if loop not in untiled_last]
    order = [loop.name for loop in (*outer, *_in(follow, sizes), *inside, *untiled_last)]
    order = list(dict.fromkeys(order))
    chain = perfect_chain(program, order) if len(order) > 1 else ()
    if [loop.name for loop in chain] != order and len(order) > 1:
        program = reorder(program, order)
    blocks = {loop.iterator: sizes[loop.name] for loop in follow if loop.name in sizes}
    program = tile(program, root, blocks)
    at = [loop.name for loop in loops_around(program, root) if "_tile" in loop.iterator][-1]
    return program, at


def _in(follow: list[PlanLoop], sizes: dict[str, int]) -> list[PlanLoop]:
    return [loop for loop in follow if loop.name in sizes]


def _weigh(
    program: Program, model: Model, fused: list[str], at: str, sizes: dict[str, int]
) -> tuple[float, dict[str, dict[str, float]]] | None:
    """Relative cost of a tiling: repeated work, short runs, buffers against the caches."""
    types = {a.name: a.type.bytes for a in program.scop.arrays}
    total_bytes, repeated, weight = 0.0, 0.0, 0.0
    numbers: dict[str, dict[str, float]] = {}
    for scratch in program.scratches:
        if scratch.at != at:
            continue
        extents = [_number(e, model.sizes) for e in scratch.extents]
        elements = 1.0
        for extent in extents:
            elements *= extent
        once = _share(program, scratch.array, at, model)
        factor = max(1.0, elements / once) if once else 1.0
        ops = sum(
            work(s.value) for s in program.scop.statements if s.array == scratch.array
        )
        total_bytes += elements * types[scratch.array]
        repeated += (factor - 1.0) * max(ops, 1.0)
        weight += max(ops, 1.0)
        numbers[scratch.array] = {"scratch bytes": elements * types[scratch.array],
                                  "recompute": round(factor, 3)}  # fmt: skip
        if factor > MOST_REPEATED:
            return None
    if total_bytes > model.target.l2_bytes / 2:
        return None
    cost = repeated / max(weight, 1.0)
    cost += 0.15 * (total_bytes > model.target.l1_bytes) + 0.25 * total_bytes / model.target.l2_bytes
    run = _run(program, model, at, sizes)
    cost += 0.4 * max(0.0, 1.0 - run / (4 * SHORTEST_RUN))
    return cost, numbers


def _run(program: Program, model: Model, at: str, sizes: dict[str, int]) -> float:
    """Bytes of one contiguous row of an output tile."""
    path = path_to(program, at)
    root = next(
        program.copies[name].statement
        for name in copies_in(path[-1])
        if not program.copies[name].outer
    )
    array = program.scop.array(root.array)
    if not array.rank:
        return float(4 * SHORTEST_RUN)
    width = _number(array.extents[-1], model.sizes)
    for name, size in sizes.items():
        if name.endswith(f".{root.iterators[-1]}"):
            width = min(width, size)
    return width * array.type.bytes


def _share(program: Program, array: str, at: str, model: Model) -> float:
    """Elements of an array per iteration of the fusion loop, if nothing overlapped."""
    extents = [_number(e, model.sizes) for e in program.scop.array(array).extents]
    whole = 1.0
    for extent in extents:
        whole *= extent
    return whole / max(_iterations(program, at, model), 1.0)


def _iterations(program: Program, at: str, model: Model) -> float:
    """Iterations of a loop, over those around it."""
    from polyopt.analysis.count import count
    from polyopt.transform.tree import prefix_map

    path = path_to(program, at)
    root = next(n for n in copies_in(path[-1]) if not program.copies[n].outer)
    times = prefix_map(program.copies[root], path).range()
    return float(count(times, model.sizes))


def _number(extent: object, sizes: Mapping[str, int]) -> float:
    """A parametric extent at the model's sizes."""
    number = constant_value(extent)  # type: ignore[arg-type]
    if number is not None:
        return float(number)
    from polyopt.isl import Val, context

    value = extent
    for position in range(value.dim(dim_type.param)):  # type: ignore[attr-defined]
        name = value.get_dim_name(dim_type.param, position)  # type: ignore[attr-defined]
        point = Val.int_from_si(context(), sizes.get(name, 1))
        universe = value.domain().params().fix_val(dim_type.param, position, point)  # type: ignore[attr-defined]
        value = value.intersect_params(universe)  # type: ignore[attr-defined]
    top = value.max_val()  # type: ignore[attr-defined]
    return float(top.to_python()) if top.is_int() else 1.0
