"""What each tile of a space computes, stage by stage, as boxes: the material of a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, product
from typing import TYPE_CHECKING

from polyopt.analysis.sets.linear import ranges
from polyopt.errors import InvalidOptionError
from polyopt.isl import dim_type, fix_param_values, integer_val
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.scheduler.model.symbolic import block_size
from polyopt.transform.schedule.query import copies_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.isl import Set
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop, ScheduledStatement

    #: first and beyond-last column, first and beyond-last row
    Box = tuple[int, int, int, int]

#: tiles per direction that a picture shows
_MOST = 4
#: how many tiles a parameter spans where the caller gives no size
_TILES = 2.5
_LEAST = 12


@dataclass(frozen=True)
class Stage:
    """One statement's boxes, tile by tile, in two of its iterators."""

    name: str
    tiles: tuple[Box, ...]
    #: names of the iterators drawn
    vertical: str
    horizontal: str
    #: the tile that a picture shows in full
    chosen: int
    overlaps: tuple[Box, ...] = field(default=())

    @property
    def bounds(self) -> Box:
        """The box around all tiles."""
        return (
            min(t[0] for t in self.tiles), max(t[1] for t in self.tiles),
            min(t[2] for t in self.tiles), max(t[3] for t in self.tiles),
        )  # fmt: skip

    @property
    def shape(self) -> str:
        """``(y, x): 66 x 512 per tile``; ``(i): 128 per tile`` in one dimension."""
        a, b, c, d = self.tiles[self.chosen]
        if not self.vertical:
            return f"({self.horizontal}): {b - a} per tile"
        return f"({self.vertical}, {self.horizontal}): {d - c} x {b - a} per tile"

    @property
    def note(self) -> str:
        """How much the tiles compute beside what one pass would."""
        done = sum((b - a) * (d - c) for a, b, c, d in self.tiles)
        a, b, c, d = self.bounds
        once = max(1, (b - a) * (d - c))
        return f"computed {done / once:.3g} times" if done > once else "computed once"


@dataclass(frozen=True, eq=False)
class _Blocks:
    """The loops around a tiled space, and the values that the picture goes through."""

    root: ScheduledStatement
    loops: tuple[PlanLoop, ...]
    #: per loop: its size where it is a block loop, else 0
    sizes: tuple[int, ...]
    #: per loop: the root's dimension that it runs along
    dims: tuple[int, ...]
    #: per loop: the values drawn, one for a loop that is no block loop
    values: tuple[range, ...]


def stages_of(plan: Plan, space: str, sizes: Mapping[str, int] | None = None) -> tuple[Stage, ...]:
    """The space's own tiles first, then those of each producer fused into them.

    Raises ``UnknownNameError`` for a space that is not there, ``InvalidOptionError`` where it is
    not tiled.
    """
    program = plan.program
    name = [n for n in copies_of(program, space) if not program.copies[n].outer][-1:]
    blocks = _blocks(plan, name[0], sizes) if name else None
    if blocks is None:
        message = f"{space} is not tiled"
        raise InvalidOptionError(message, hint=f'plan.tile("{space}", ...) first')
    known = _sizes(plan, blocks.sizes, sizes)
    result = [_root_stage(blocks, known)]
    names = {loop.name for loop in blocks.loops}
    for other, place in program.places.items():
        copy = program.copies[other]
        outer = place.loops[: min(copy.outer, len(blocks.loops))]
        if copy.outer and not copy.fills and {loop.name for loop in outer} <= names:
            result += _producer_stage(program, other, blocks, known)
    return tuple(result)


def _sizes(plan: Plan, blocks: tuple[int, ...], given: Mapping[str, int] | None) -> dict[str, int]:
    usual = max(_LEAST, int(_TILES * max(blocks)))
    return assumed_sizes(plan.scop, given, dict.fromkeys(plan.scop.params, usual))


def _blocks(plan: Plan, name: str, sizes: Mapping[str, int] | None) -> _Blocks | None:
    program = plan.program
    root, loops = program.copies[name], program.places[name].loops
    dims = tuple(_dim(loop, name) for loop in loops)
    found = tuple(block_size(loop.values[name]) for loop in loops)
    # blocks inside those of the same iterator are for registers
    found = tuple(
        0 if any(found[j] and dims[j] == dims[k] for j in range(k)) else size
        for k, size in enumerate(found)
    )
    if not any(found):
        return None
    last = max(k for k, size in enumerate(found) if size)
    loops, found, dims = loops[: last + 1], found[: last + 1], dims[: last + 1]
    limits = ranges(root.domain, _sizes(plan, found, sizes)) or {}
    values: list[range] = []
    for size, dim in zip(found, dims, strict=True):
        low, high = limits.get(dim, (0, 0))
        step = size or 1
        first = low // step
        count = high // step - first + 1 if size else 1
        values.append(range(first, first + min(count, _MOST)))
    return _Blocks(root, loops, found, dims, tuple(values))


def _dim(loop: PlanLoop, name: str) -> int:
    value = loop.values[name]
    count = value.dim(dim_type.in_)
    return next((d for d in range(count) if value.involves_dims(dim_type.in_, d, 1)), 0)


def _root_stage(blocks: _Blocks, sizes: Mapping[str, int]) -> Stage:
    limits = ranges(blocks.root.domain, sizes) or {}
    tiled = _drawn_loops(blocks)
    drawn = [blocks.dims[k] for k in tiled]
    rank = blocks.root.domain.dim(dim_type.set)
    others = [d for d in range(rank) if d not in drawn]
    drawn = drawn if len(drawn) > 1 else sorted([*drawn, *others[-1:]])
    boxes: list[Box] = []
    for values in product(*blocks.values):
        sides: dict[int, tuple[int, int]] = {}
        for k in tiled:
            size, dim = blocks.sizes[k], blocks.dims[k]
            low, high = limits[dim]
            first = values[k] * size
            sides[dim] = max(low, first), min(high, first + size - 1)
        boxes.append(_box([sides.get(d, limits[d]) for d in drawn]))
    names = [blocks.root.statement.iterators[d] for d in drawn]
    return _stage(blocks.root.statement.name, boxes, names, boxes[0])


def _drawn_loops(blocks: _Blocks) -> list[int]:
    """The block loops to draw, two at most: those along the result before those that sum."""
    tiled = [k for k, size in enumerate(blocks.sizes) if size]
    forms = [index.form for index in blocks.root.statement.index]
    own = {d for form in forms for d in range(form.dim(dim_type.in_))
           if form.involves_dims(dim_type.in_, d, 1)}  # fmt: skip
    along = [k for k in tiled if blocks.dims[k] - blocks.root.outer in own]
    return (along if len(along) > 1 else tiled)[-2:]


def _producer_stage(
    program: ScheduledProgram, name: str, blocks: _Blocks, sizes: Mapping[str, int]
) -> Iterator[Stage]:
    copy = program.copies[name]
    domain = fix_param_values(copy.domain, sizes)
    depth = min(copy.outer, len(blocks.loops))
    every = [(v, _inside(domain, v, copy.outer)) for v in product(*blocks.values[:depth])]
    found = [(v, box) for v, box in every if box]
    if not found:
        return
    drawn = _moving(found, blocks, copy)
    boxes = [_box([box[d] for d in drawn]) for _, box in found]
    names = [copy.statement.iterators[d] for d in drawn]
    # the tile that is drawn full is the same in every stage: the first
    yield _stage(copy.statement.name, boxes, names, boxes[0])


def _inside(domain: Set, values: tuple[int, ...], outer: int) -> list[tuple[int, int]]:
    """The box of a producer's own iterators in one tile; empty where the tile needs nothing."""
    for level, value in enumerate(values):
        domain = domain.fix_val(dim_type.set, level, integer_val(value))
    if domain.is_empty():
        return []
    return [
        (domain.dim_min_val(d).to_python(), domain.dim_max_val(d).to_python())
        for d in range(outer, domain.dim(dim_type.set))
    ]


def _moving(
    found: list[tuple[tuple[int, ...], list[tuple[int, int]]]],
    blocks: _Blocks,
    copy: ScheduledStatement,
) -> list[int]:
    """The two iterators to draw: those that move with the tiles, else the last ones."""
    rank = len(copy.statement.iterators)
    moving: list[int] = []
    depth = min(copy.outer, len(blocks.loops))
    for level in [k for k, size in enumerate(blocks.sizes[:depth]) if size][-2:]:
        for (one, a), (two, b) in combinations(found, 2):
            if any(x != y for k, (x, y) in enumerate(zip(one, two, strict=True)) if k != level):
                continue
            moving += [d for d in range(rank) if a[d][0] != b[d][0] and d not in moving]
            break
    rest = [d for d in reversed(range(rank)) if d not in moving]
    return sorted([*moving, *rest][:2])


def _box(sides: list[tuple[int, int]]) -> Box:
    """Rows from the first of two sides, columns from the last."""
    columns = sides[-1]
    rows = sides[0] if len(sides) > 1 else (0, 0)
    return columns[0], columns[1] + 1, rows[0], rows[1] + 1


def _stage(name: str, boxes: list[Box], names: list[str], chosen: Box) -> Stage:
    boxes = list(dict.fromkeys(boxes))
    overlaps = [_common(a, b) for a, b in combinations(boxes, 2)]
    kept = tuple(dict.fromkeys(o for o in overlaps if o[0] < o[1] and o[2] < o[3]))
    vertical = names[0] if len(names) > 1 else ""
    return Stage(name, tuple(boxes), vertical, names[-1], boxes.index(chosen), kept)


def _common(one: Box, other: Box) -> Box:
    return (
        max(one[0], other[0]), min(one[1], other[1]), max(one[2], other[2]), min(one[3], other[3]),
    )  # fmt: skip
