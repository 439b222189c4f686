"""Time tiling of stencils: several steps on a part of the grid while it is in the cache.

A program that sweeps over the same arrays again and again moves them through the caches once
per sweep. Where isl's scheduler finds one band of permutable loops, time first and the grid's
loops skewed against it, blocks of that band run several steps each.

Where time and the first grid loop have faces that lean both ways, the blocks are diamonds: those of
a row start together, and threads share them. Elsewhere they are parallelograms; those on a
diagonal of time and the first grid loop do not depend on each other and are shared.

Other nests may stand before and after the one that sweeps. Locals of an iteration stay with it.

Where values go round the grid (periodic boundaries) or are read in mirror order, its loops are
split in the middle first: isl folds the halves onto each other, and what was as far apart as the
grid is long lies side by side. (U. Bondhugula et al., "Tiling and optimizing time-iterated
computations on periodic domains", 2014.)

    for row of diamonds:        for wavefront:
      for diamond:  shared        for block of steps:  shared
        for step:                   for step:
          for row: for column:  a vector loop for each statement

(M. Wolf and M. Lam, "A data locality optimizing algorithm", 1991; U. Bondhugula et al., "A
practical automatic polyhedral parallelizer and locality optimizer", 2008; V. Bandishti, I.
Pananilath and U. Bondhugula, "Tiling stencil computations to maximize parallelism", 2012.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.codegen.helpers.nontemporal import LINE as CACHE_LINE
from polyopt.errors import UserError
from polyopt.ir.expr import Affine, loads
from polyopt.isl import (
    Map,
    affine_constant,
    budget,
    dim_type,
    integer_val,
    maps_of,
    sets_of,
    tuple_name,
    union_all,
    value_text,
)
from polyopt.memo import memo
from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.model.instances import instances_of
from polyopt.scheduler.strategies.strip_rows import short_rows
from polyopt.transform.loops.reschedule import bands
from polyopt.transform.schedule.query import find_loop, loop_over_blocks
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.schedule.tree import PlanLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from polyopt.analysis.dependences import Dependences
    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import PwAff
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram

#: rows of a diamond at its widest to try, most first
WIDTHS = (64, 48, 32, 24, 20, 16)
#: diamonds of a row per thread that are enough, and rows of the grid's other loops
EACH, ROWS = 2, (16, 8)
#: steps of a block to try, most first, and the fewest that pay
STEPS, FEWEST = (16, 8), (4,)
#: columns of a block, 0 for whole rows
COLUMNS = (0, 512, 128)
#: the least numbers of rows of a block
LEAST_ROWS = (16, 8)
#: steps and cells of a block of a line
LINE = (32, 2048)
#: statements that isl is asked to fold: with more it may take minutes
MOST_PARTS = 8
#: isl operations for the halves of a grid: a torus of two dimensions needs 2 million
_FOLDING = 5_000_000
#: the share of the second cache that a parallelogram may fill
SHARE = 3 / 4


@dataclass(frozen=True)
class _Stencil:
    """The loops of a band, time first, and how far each is skewed per step."""

    loops: tuple[PlanLoop, ...]
    slopes: tuple[int, ...]
    #: iterations of the source along each
    lengths: tuple[float, ...]
    #: the outermost loop of the source's nest, where there are other nests
    nest: str | None
    #: bytes of all that its statements use, per point of the grid
    each: float


@memo
def time_tiles(
    plan: Plan, target: Target, sizes: Mapping[str, int]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan in blocks of several steps; as it was where the program does not sweep."""
    nest = _sweeping(plan, sizes)
    if nest is None:
        return plan, ()
    try:
        found = _stencil(plan, nest, sizes)
    except UserError as error:
        return plan, (refusal("reschedule", "all loops", error),)
    start, splits = plan, tuple[Remark, ...]()
    if found is None:
        plan, found, splits = _folded(plan, nest, sizes)
    if found is None:
        return start, splits
    remarks: list[Remark] = []
    for move, shape in _SHAPES.items():
        if move == "diamond" and len(found.loops) == 2:
            continue  # a line has many blocks on a diagonal
        blocks, footprint = shape.sizes(found, target)
        if not blocks:
            reason = "blocks of several steps would leave the cache"
            remarks.append(Remark("refused", move, "all loops", reason))
            continue
        try:
            done = _upright(shape.cut(plan, found, blocks), found, blocks)
            done, pieces = _in_pieces(done, found, blocks, target)
            done = _apart(_with_locals(done, found), found)
            done.prove()
        except UserError as error:
            remarks.append(refusal(move, found.loops[0].name, error))
            continue
        numbers = {"bytes of a block": footprint}
        each = zip(found.loops, blocks, strict=True)
        numbers |= {loop.iterator: float(size) for loop, size in each if size}
        name = found.loops[0].name
        remarks.append(Remark("applied", move, name, shape.reason, numbers=numbers))
        return done, (*splits, *remarks, *pieces)
    return start, tuple(remarks)


def _sweeping(plan: Plan, sizes: Mapping[str, int]) -> PlanLoop | None:
    """The nest with the most to do among those that sweep over the same arrays again and again."""
    roots = [node for node in plan.program.tree if isinstance(node, PlanLoop)]
    found = [root for root in roots if _sweeps(plan.scop, root)]
    return max(found, key=lambda root: _instances(plan, root, sizes), default=None)


def _instances(plan: Plan, root: PlanLoop, sizes: Mapping[str, int]) -> int:
    return sum(instances_of(plan.program.copies[name], sizes) for name in root.copies)


def _sweeps(scop: Scop, root: PlanLoop) -> bool:
    """Whether what a nest writes does not move with its outermost loop, but for its locals."""

    def is_kept(array: str) -> bool:
        return scop.array(array).rank < 2 or scop.array(array).private > 0

    return all(
        len(s.iterators) > 1
        and (scop.array(s.array).private > 0 or not any(_moves(x, 0) for x in s.index))
        and not any(
            _moves(x, 0)
            for load in loads(s.value)
            if not is_kept(load.array) and scop.array(load.array).role != "in"
            for x in load.index
        )
        for s in map(scop.statement, root.copies)
    )


def _moves(index: object, dim: int) -> bool:
    return not isinstance(index, Affine) or index.form.involves_dims(dim_type.in_, dim, 1)


def _stencil(plan: Plan, nest: PlanLoop, sizes: Mapping[str, int]) -> _Stencil | None:
    alone = None if len(plan.program.tree) == 1 else nest.name
    found = bands(plan.program, "smart", alone)
    chain: list[PlanLoop] = []
    level = found.tree
    while len(level) == 1 and isinstance(level[0], PlanLoop):
        chain.append(level[0])
        level = level[0].body
    names = tuple(loop.name for loop in chain)
    if len(chain) < 2 or names not in found.permutable or found.coincident & set(names):
        return None
    if not all(isinstance(child, str) for child in level):
        return None
    inside = [plan.program.copies[name].statement for name in nest.copies]
    deepest = max(inside, key=lambda s: len(s.iterators))
    if len(deepest.iterators) != len(chain):
        return None
    slopes = tuple(_coefficient(loop.values[deepest.name], 0) for loop in chain)
    if slopes[0] != 1 or any(slope < 0 for slope in slopes):
        return None
    lengths = tuple(
        _length(plan.program, deepest.name, position, sizes) for position in range(len(chain))
    )
    each = _bytes_each(plan.scop, inside, lengths, sizes)
    return _Stencil(tuple(chain), slopes, lengths, alone, each)


def _folded(
    plan: Plan, nest: PlanLoop, sizes: Mapping[str, int]
) -> tuple[Plan, _Stencil | None, tuple[Remark, ...]]:
    """The plan with grid loops in halves, where that makes one band of them."""
    made, names, found = plan, list[str](), None
    long = _long(plan.program.dependences, nest.copies)
    parts = len(nest.copies) << len(long)
    if long and parts > MOST_PARTS:
        reason = f"folded in the middle it would have more than {MOST_PARTS} statements"
        remark = Remark(
            "refused", "split_range", "all loops", reason, numbers={"statements": float(parts)}
        )
        return plan, None, (remark,)
    try:
        with budget(_FOLDING, "how the grid's halves may be folded"):
            for loop, at in _middles(plan, nest, long):
                made = made.split_range(loop, at=at)
                names.append(loop)
            root = find_loop(made.program, nest.name)
            found = _stencil(made, root, sizes) if names else None
    except UserError as error:
        return plan, None, (refusal("split_range", ", ".join(names), error),)
    if not names:
        return plan, None, ()
    if found is None:
        reason = "folded in the middle, not all loops would be permutable either"
        return plan, None, (Remark("refused", "split_range", ", ".join(names), reason),)
    reason = "folded in the middle, all loops are permutable: no dependence goes round the grid"
    return made, found, (Remark("applied", "split_range", ", ".join(names), reason),)


def _middles(plan: Plan, nest: PlanLoop, long: Collection[int]) -> Iterator[tuple[str, str]]:
    """The loops along some dimensions, with their middles; inner ones first, which outer ones then
    split as well."""
    for dim in sorted(long, reverse=True):
        loops = [p.loops[dim] for p in nest.places if dim < len(p.loops)]
        for loop in {loop.name: loop for loop in loops}.values():
            values = union_all(
                Map.from_pw_aff(loop.values[name]).intersect_domain(
                    plan.program.copies[name].domain
                )
                for name in loop.copies
            ).range()
            (line,) = sets_of(values)
            ends = line.dim_min(0).add(line.dim_max(0))
            ends = ends.add(affine_constant(ends.get_domain_space(), 1))
            middle = ends.scale_down_val(integer_val(2)).floor()
            middle = middle.gist(line.params()).coalesce()
            if middle.n_piece() == 1:
                yield loop.name, value_text(middle)


def _long(deps: Dependences, names: Collection[str]) -> set[int]:
    """The dimensions along which some dependence is as long as the sizes say."""
    found: set[int] = set()
    for one in maps_of(deps.flow):
        ends = [(one.dim(kind), tuple_name(one, kind)) for kind in (dim_type.in_, dim_type.out)]
        first, last = (count for count, _ in ends)
        if first != last or not all(name in names for _, name in ends):
            continue
        steps = one.set_tuple_name(dim_type.in_, "").set_tuple_name(dim_type.out, "").deltas()
        for dim in range(1, first):
            line = steps.project_out(dim_type.set, dim + 1, first - dim - 1)
            line = line.project_out(dim_type.set, 0, dim)
            if not line.project_out_all_params().is_bounded():
                found.add(dim)
    return found


def _coefficient(value: PwAff, dim: int) -> int:
    pieces = value.get_pieces()
    number = pieces[0][1].get_coefficient_val(dim_type.in_, dim)
    return number.to_python() if len(pieces) == 1 and number.is_int() else -1


def _length(program: ScheduledProgram, name: str, position: int, sizes: Mapping[str, int]) -> float:
    domain = program.copies[name].domain
    after = domain.dim(dim_type.set) - position - 1
    line = domain.project_out(dim_type.set, position + 1, after)
    return float(about(line.project_out(dim_type.set, 0, position), sizes))


def _bytes_each(
    scop: Scop, inside: Sequence[Statement], lengths: Sequence[float], sizes: Mapping[str, int]
) -> float:
    """Bytes of all arrays that statements use per point of the grid."""
    used = {name for s in inside for name in (s.array, *(a.array for a in s.reads))}
    grids = [a for a in scop.arrays if a.name in used and a.rank == len(lengths) - 1]
    points = max(prod(lengths[1:]), 1)
    return sum(array_bytes(array, sizes) for array in grids if not array.private) / points


def _diamond_sizes(found: _Stencil, target: Target) -> tuple[tuple[int, ...], float]:
    """Sizes per loop, 0 for none, and the bytes that a step touches where the diamond is widest.

    What a step leaves in the cache is what the next one needs; as a diamond's steps are half as
    wide on the whole, the widest may fill it. Long rows come first, then wide diamonds: a sweep
    over one moves each byte once, whatever its width.
    """
    room, each = target.l2_bytes, found.each
    enough = EACH * target.cores
    for columns in COLUMNS:
        for rows in ROWS:
            for width in WIDTHS:
                inner = (*[rows] * (len(found.loops) - 3), columns)
                points = width * prod(
                    min(length, size or length)
                    for size, length in zip(inner, found.lengths[2:], strict=True)
                )
                many = found.lengths[1] >= width * enough or width == WIDTHS[-1]
                if points * each <= room and many and _steps(found, width) <= found.lengths[0]:
                    return (0, width, *inner), points * each
    return (), 0.0


def _steps(found: _Stencil, width: int) -> float:
    """The steps that a diamond takes: its faces lean one way and the other alike."""
    return width / max(2 * found.slopes[1], 1)


def _in_diamonds(plan: Plan, found: _Stencil, blocks: tuple[int, ...]) -> Plan:
    time, first, *others = found.loops
    plan = replace(plan, checked=False).reschedule(fusion="smart", loop=found.nest)
    plan = plan.diamond(time.name, first.name, blocks[1])
    plan = plan.parallelize(loop_over_blocks(plan.program, first.name).name)
    inner = {loop: size for loop, size in zip(others, blocks[2:], strict=True) if size}
    if not inner:
        return plan
    space = _copies(found)[-1]
    plan = plan.tile(space, **{loop.iterator: size for loop, size in inner.items()})
    points = [loop.name for loop in found.loops if loop not in inner]
    tiles = [loop_over_blocks(plan.program, loop.name).name for loop in inner]
    return plan.reorder(*tiles, *points)


def _parallelogram_sizes(found: _Stencil, target: Target) -> tuple[tuple[int, ...], float]:
    """Sizes per loop, 0 for none, of the longest blocks that fit, and the bytes that they touch."""
    room, each = target.l2_bytes * SHARE, found.each
    for steps, *rows in _candidates(found):
        touched = [
            min(length, (size or length) + slope * steps)
            for size, slope, length in zip(rows, found.slopes[1:], found.lengths[1:], strict=True)
        ]
        if steps <= found.lengths[0] and prod(touched) * each <= room:
            return (steps, *rows), prod(touched) * each
    return (), 0.0


def _candidates(found: _Stencil) -> Iterator[tuple[int, ...]]:
    """Steps, then sizes along the grid's loops, 0 for whole rows: the better ones first.

    Long rows count for more than many steps: a vector loop that is short has more of a start and
    an end than of a middle.
    """
    if len(found.loops) == 2:
        yield LINE
        return
    for usual in (STEPS, FEWEST):
        for columns in COLUMNS:
            for least in LEAST_ROWS:
                for steps in usual:
                    rows = tuple(max(least, slope * steps) for slope in found.slopes[1:-1])
                    yield (steps, *rows, columns)


def _in_parallelograms(plan: Plan, found: _Stencil, blocks: tuple[int, ...]) -> Plan:
    time, first, *_ = found.loops
    plan = replace(plan, checked=False).reschedule(fusion="smart", loop=found.nest)
    sizes = {loop.iterator: size for loop, size in zip(found.loops, blocks, strict=True) if size}
    space = plan.program.copies[_copies(found)[-1]].statement.array
    plan = plan.tile(space, **sizes)
    outer, inner = (loop_over_blocks(plan.program, loop.name).name for loop in (time, first))
    return plan.skew(inner, by=outer).interchange(outer, inner).parallelize(outer)


def _upright(plan: Plan, found: _Stencil, blocks: tuple[int, ...]) -> Plan:
    """Loops that no block cuts start where the grid does in every step, not ever further on."""
    for loop, slope, size in zip(found.loops[2:], found.slopes[2:], blocks[2:], strict=True):
        if slope and not size:
            plan = plan.skew(loop.name, by=found.loops[0].name, factor=-slope)
    return plan


def _in_pieces(
    plan: Plan, found: _Stencil, blocks: tuple[int, ...], target: Target
) -> tuple[Plan, tuple[Remark, ...]]:
    """Whole rows in pieces that the first cache keeps for the next row.

    Not where vectors are as long as lines: those of rows come from whole vectors, of which pieces
    have fewer than they save (on an AMD EPYC of 2024 ``wave_2d`` takes a quarter longer).
    """
    if blocks[-1] or len(found.loops) < 3 or target.vector_bytes >= CACHE_LINE:
        return plan, ()
    columns = found.loops[-1].name
    try:
        done, size = short_rows(plan, tuple(_copies(found)), found.lengths[-1], target.l1_bytes)
    except UserError as error:
        return plan, (refusal("tile", columns, error),)
    if not size:
        return plan, ()
    reason = "the first cache keeps pieces of rows until the next row has read them"
    return done, (Remark("applied", "tile", columns, reason, numbers={"columns": float(size)}),)


def _copies(found: _Stencil) -> list[str]:
    """The statements of the innermost loop."""
    return [child for child in found.loops[-1].body if isinstance(child, str)]


def _with_locals(plan: Plan, found: _Stencil) -> Plan:
    """Locals of an iteration as such again: the order is one of all their elements."""
    used = {access for name in _copies(found) for access in plan.program.arrays_read(name)}
    for array in plan.scop.arrays:
        if array.private and array.name in used:
            name = next(n for n in _copies(found) if _writes(plan, n) == array.name)
            plan = plan.store(array.name, at=plan.program.places[name].loops[-1].name)
    return plan


def _writes(plan: Plan, name: str) -> str:
    return plan.program.copies[name].statement.array


def _apart(plan: Plan, found: _Stencil) -> Plan:
    """A vector loop of its own for each statement, with the locals that it reads."""
    local = set[str]()
    for position, name in enumerate(_copies(found)):
        if position and not local & set(plan.program.arrays_read(name)):
            shared = plan.program.places[name].loops[-1].name
            plan = plan.distribute(shared, at=name)
            local = set[str]()
        if plan.scop.array(_writes(plan, name)).private:
            local.add(_writes(plan, name))
    return plan


@dataclass(frozen=True)
class _Shape:
    """How blocks of one shape are sized and cut, and what is good about them."""

    sizes: Callable[[_Stencil, Target], tuple[tuple[int, ...], float]]
    cut: Callable[[Plan, _Stencil, tuple[int, ...]], Plan]
    reason: str


#: by the move that makes them, the better ones first
_SHAPES = {
    "diamond": _Shape(
        _diamond_sizes,
        _in_diamonds,
        "each diamond takes several steps while it is in the cache; those of a row start at once",
    ),
    "tile": _Shape(
        _parallelogram_sizes,
        _in_parallelograms,
        "each block of the grid takes several steps while it is in the cache",
    ),
}
