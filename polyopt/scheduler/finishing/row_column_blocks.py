"""Row and column reductions of one array (gemv and its transpose), in one walk through it.

A sum along a row carries its dependence along the columns, a sum down a column along the rows: in a
loop nest that does both, no loop is free for threads, and taken apart each of the two goes through
the array. Where that comes from memory, it is the array's bytes that take the time, and the nest is
kept whole: blocks of rows and columns, of which those on a diagonal share nothing, and in a block
strips that stay in the first-level cache from the one sum to the other.

rewrite: ``for (i) for (j) { s[j] += A[i][j] * r[i]; q[i] += A[i][j] * p[j]; }`` ->

    for diagonal:
      for block of rows:  shared
        for 8 rows: for strip of columns:
          for (j) [8 rows] s[j] += ...     a vector loop
          for (j) [8 rows] q[i] += ...     8 sums side by side

(The blocks are those of a wavefront: M. Wolf and M. Lam, "A data locality optimizing algorithm",
1991.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.ir.block import Block
from polyopt.ir.expr import Affine, loads
from polyopt.isl import dim_type
from polyopt.scheduler.finishing.interleave_recurrences import rows_at_once
from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.queries import checked
from polyopt.transform.schedule.query import iterators_of, moves_target
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.schedule.tree import PlanLoop, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from polyopt.codegen.target import Target
    from polyopt.ir.expr import Expr
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram

#: rows of a block, at most, and blocks of rows per thread, so that few wait at either end
MOST_ROWS, EACH = 256, 16
#: elements of a block that take threads longer than waiting for each other
LEAST_BLOCK = 100_000


@dataclass(frozen=True)
class _Nest:
    """Two loops with sums of both kinds, and the large arrays that both kinds read."""

    rows: PlanLoop
    columns: PlanLoop
    #: copies whose sums go along the columns, and those whose vectors do
    chains: tuple[str, ...]
    vectors: tuple[str, ...]
    arrays: tuple[str, ...]
    bytes: int


@dataclass(frozen=True)
class _Blocks:
    """Rows that run side by side, rows and columns of a block, and columns of a strip; rows are 0
    where there is one thread."""

    jam: int
    rows: int
    columns: int
    strip: int


def read_once(
    plan: Plan, target: Target, sizes: Mapping[str, int], legal: Callable[[Plan], bool]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with every such nest in blocks; ``legal`` says whether a plan is proven."""
    remarks: list[Remark] = []
    tried: set[str] = set()
    while (nest := _next(plan.program, sizes, tried)) is not None:
        tried |= {*nest.columns.copies}
        plan, said = _taken(plan, nest, target, sizes, legal)
        remarks.append(said)
    return plan, tuple(remarks)


def _next(
    program: ScheduledProgram, sizes: Mapping[str, int], tried: Collection[str]
) -> _Nest | None:
    """The first nest of which no copy was tried."""
    found = (_nest_of(program, loop, sizes, tried) for loop in loops_of(program.tree))
    return next((nest for nest in found if nest is not None), None)


def _taken(
    plan: Plan,
    nest: _Nest,
    target: Target,
    sizes: Mapping[str, int],
    legal: Callable[[Plan], bool],
) -> tuple[Plan, Remark]:
    """The plan with a nest in blocks, or as it was, and why."""
    numbers = {"bytes": float(nest.bytes)}
    where = ", ".join(nest.arrays)
    refused = partial(Remark, "refused", "tile", nest.columns.name, numbers=numbers)
    if nest.bytes <= target.last_bytes:
        return plan, refused(f"the last cache keeps {where} from one sum to the other")
    blocks = _blocks_of(plan.program, nest, target, sizes)
    if blocks is None:
        return plan, refused("blocks of it would be too few or too small to share")
    try:
        changed = _in_blocks(plan, nest, blocks)
    except UserError as error:
        return plan, refusal("tile", nest.columns.name, error)
    if not legal(changed):
        return plan, refused("in strips, values would be added to some sum in another order")
    numbers |= {"rows": float(blocks.rows or blocks.jam), "columns": float(blocks.columns),
                "columns of a strip": float(blocks.strip)}  # fmt: skip
    reason = f"sums along rows and down columns read {where} once"
    return changed, Remark("applied", "tile", nest.columns.name, reason, numbers=numbers)


def _nest_of(
    program: ScheduledProgram, rows: PlanLoop, sizes: Mapping[str, int], tried: Collection[str]
) -> _Nest | None:
    """The nest whose outer loop this is; ``None`` where it is not of this kind."""
    for columns in rows.body:
        if isinstance(columns, str) or rows.mark or columns.mark:
            continue
        if any(isinstance(child, PlanLoop) for child in columns.body):
            continue
        names = columns.copies
        if any(name in tried or _is_other(program, name) for name in names):
            continue
        kinds = {n: (moves_target(program, n, rows), moves_target(program, n, columns))
                 for n in names}  # fmt: skip
        chains = tuple(n for n in names if kinds[n] == (True, False))
        vectors = tuple(n for n in names if kinds[n] == (False, True))
        if not chains or not vectors or len(chains) + len(vectors) < len(names):
            continue
        walked = (_walked(program, part, rows, columns) for part in (chains, vectors))
        arrays = sorted(set[str].intersection(*walked))
        size = max((array_bytes(program.scop.array(a), sizes) for a in arrays), default=0)
        large = tuple(a for a in arrays if array_bytes(program.scop.array(a), sizes) == size)
        if large:
            return _Nest(rows, columns, chains, vectors, large, size)
    return None


def _is_other(program: ScheduledProgram, name: str) -> bool:
    """Whether a copy is no sum of floats."""
    statement = program.copies[name].statement
    if isinstance(statement.value, Block) or not statement.value.type.is_float:
        return True
    return statement.reduction is None


def _walked(
    program: ScheduledProgram, names: Sequence[str], rows: PlanLoop, columns: PlanLoop
) -> set[str]:
    """The arrays whose rows copies read along the columns' loop, one for each of the rows'."""
    found: set[str] = set()
    for name in names:
        copy = program.copies[name]
        statement = copy.statement
        row, column = ({*iterators_of(copy, loop)} for loop in (rows, columns))
        for load in loads(statement.value):
            if load.array == statement.array or len(load.index) < 2:
                continue
            *high, last = (_moving(x, len(statement.iterators)) for x in load.index)
            if last & column and not last & row and not any(h & column for h in high):
                found |= {load.array} if any(h & row for h in high) else set()
    return found


def _moving(index: Expr, count: int) -> set[int]:
    """The iterators that a subscript moves with: all of them where it is not affine."""
    if not isinstance(index, Affine):
        return {*range(count)}
    return {d for d in range(count) if index.form.involves_dims(dim_type.in_, d, 1)}


def _blocks_of(
    program: ScheduledProgram, nest: _Nest, target: Target, sizes: Mapping[str, int]
) -> _Blocks | None:
    rows, columns = (trips(program, loop, sizes) for loop in (nest.rows, nest.columns))
    each = program.copies[nest.chains[0]].statement.value.type.bytes
    lanes, jam = target.lanes(each), rows_at_once(target)
    strip = target.l1_bytes // 2 // (jam * each * len(nest.arrays)) // lanes * lanes
    if not strip or rows < 4 * jam or columns < 4 * strip:
        return None
    if target.cores < 2:
        return _Blocks(jam, 0, 0, strip)
    high = min(MOST_ROWS, int(rows / (EACH * target.cores)) // jam * jam)
    wide = ceil(columns / target.cores / strip) * strip
    if high * wide < LEAST_BLOCK or ceil(columns / wide) < target.cores:
        return None
    return _Blocks(jam, high, wide, strip)


def _in_blocks(plan: Plan, nest: _Nest, blocks: _Blocks) -> Plan:
    """The plan with a nest in blocks. Raises ``PolyoptError`` where a step is not possible."""
    names = nest.columns.copies
    plan = _alone(plan, nest)
    rows, columns = plan.program.places[names[0]].loops[-2:]
    if blocks.rows:
        extents = {rows.iterator: blocks.rows, columns.iterator: blocks.columns}
        plan = plan.tile(names[0], **extents)
        *_, high, wide, rows, columns = plan.program.places[names[0]].loops
        plan = plan.skew(wide.name, by=high.name, factor=1)
        plan = plan.interchange(high.name, wide.name)
        plan = checked(plan.parallelize(high.name), high.name)
    plan = plan.unroll_and_jam(rows.name, blocks.jam)
    jam = plan.program.places[names[0]].loops[-3]
    plan = plan.split(columns.name, blocks.strip)
    for name, before in zip(names[1:], names, strict=False):
        if (name in nest.chains) != (before in nest.chains):
            plan = plan.distribute(columns.name, at=name)
    plan = plan.separate_full_tiles(jam.name)
    for name in nest.vectors:
        loop = plan.program.places[name].loops[-2]
        if not loop.mark:
            plan = checked(plan.vectorize(loop.name), loop.name)
    return plan


def _alone(plan: Plan, nest: _Nest) -> Plan:
    """The plan with nothing but the two loops in a nest of their own."""
    names, held = nest.columns.copies, nest.rows.copies
    after = held.index(names[-1]) + 1
    for name in (names[0], *held[after : after + 1]):
        value = nest.rows.values[name]
        loop = next(n for n in plan.program.places[name].loops if n.values[name] is value)
        if loop.copies[0] != name:
            plan = plan.distribute(loop.name, at=name)
    return plan
