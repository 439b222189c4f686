"""Matrix products and their like: tiles for each cache, packed operands, sums in registers.

A statement qualifies by its subscripts alone: it updates an element, one loop around it does not
move that element (the sum), one moves along the element's row (the vectors), and of its
operands some move with the sum and the row, others with the sum and a third loop. Each value
that is loaded then serves several updates, and what is left to do is to keep it near:

    for block of rows:                  shared by threads
      for block of the sum:             operands of these rows packed, for the second-level cache
        for columns of a few vectors:   operands of these columns packed, for the first
          for rows of a register block:
            for the sum:                the block stays in registers

(K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", 2008.)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isqrt
from typing import TYPE_CHECKING

from polyopt.errors import IllegalScheduleError, UserError
from polyopt.ir.expr import Affine, Expr, Load, loads
from polyopt.isl import dim_type
from polyopt.scheduler.model.accesses import constant_tail
from polyopt.scheduler.model.instances import constant_trips, trips
from polyopt.scheduler.model.machine import costs_of
from polyopt.scheduler.strategies.contractions.nests import block_loop, isolated, point_loop
from polyopt.scheduler.subscripts import dimension_of, is_target, step, updates
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.storage.pack import is_scaled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Statement
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: a sum, a row or a number of rows shorter than this leaves nothing to keep
SHORTEST = 32
#: vectors along a row of a register block
VECTORS = 2
#: blocks of rows in registers, at least, for each of which columns come from the second cache once
FEWEST_BLOCKS = 8
#: blocks of rows that a thread gets where they are of one length, and where they are not
BLOCKS, UNEVEN_BLOCKS = 1, 4


@dataclass(frozen=True)
class Operand:
    """A load that moves with the block: which loops it moves with, by their roles."""

    array: str
    ref: str
    load: Load
    along: bool
    #: the array's dimension that the row's loop walks; -1 for none
    dimension: int


@dataclass(frozen=True)
class Contraction:
    """A statement that qualifies, its dimensions by role, and its operands."""

    copy: str
    rows: int
    columns: int
    sum: int
    operands: tuple[Operand, ...]
    #: whether some loop's bounds depend on another of them
    is_uneven: bool


def contractions(
    plan: Plan, target: Target, sizes: Mapping[str, int]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with every product of matrices, or what is like one, in blocks."""
    remarks: list[Remark] = []
    for name in list(plan.program.places):
        if name not in plan.program.places:
            continue
        reason = "blocks in registers, operands packed"
        try:
            found = contraction_of(plan.program, name, sizes)
            if found is None:
                continue
            done, total, numbers = _Blocks(plan, target, sizes, found).made()
            done.prove()
        except UserError as error:
            reason = f"not in blocks: {error.diagnostic.message}"
            witnesses = error.witnesses if isinstance(error, IllegalScheduleError) else ()
            remarks.append(
                Remark(
                    "refused", "register_tile", name, reason, witnesses=witnesses, code=error.code
                )
            )
            continue
        plan = done
        remarks.append(Remark("applied", "register_tile", total, reason, numbers=numbers))
    return plan, tuple(remarks)


def contraction_of(
    program: ScheduledProgram, name: str, sizes: Mapping[str, int]
) -> Contraction | None:
    """What a copy is as a contraction; ``None`` where it is none, or a small one."""
    if not updates(program, name):
        return None
    path, statement = program.places[name].loops, program.copies[name].statement
    loops = {d: loop for loop in path if (d := dimension_of(program, name, loop)) is not None}
    blocks = len(path) - len(loops)  # they may stand around the others, not between them
    if not statement.index or any(loop in loops.values() for loop in path[:blocks]):
        return None
    moving = [d for d in loops if any(_moves(x, d) for x in statement.index)]
    sums = [d for d in loops if d not in moving]
    last = [d for d in moving if step(statement.index[-1], d) == 1]
    if len(sums) != 1 or len(last) != 1:
        return None
    total, columns = sums[0], last[0]
    if any(step(x, columns) for x in statement.index[:-1]):
        return None
    operands = _operands(statement, columns)
    if operands is None:
        return None
    rows = [d for d in moving if d != columns and _serves(operands, d, total)]
    if not rows:
        return None
    roles = (rows[-1], columns, total)
    if min(trips(program, loops[d], sizes) for d in roles) < SHORTEST:
        return None
    return Contraction(name, *roles, operands, _is_uneven(program, name, roles))


def most_rows(target: Target) -> int:
    """Rows of a register block: an operand of each row comes from memory as it is used."""
    return min(12, (target.registers - 2 * VECTORS) // VECTORS)


def _operands(statement: Statement, columns: int) -> tuple[Operand, ...] | None:
    """The loads but the target's; ``None`` where one moves otherwise than along one row."""
    found: list[Operand] = []
    for access, load in zip(statement.reads, loads(statement.value), strict=True):
        if is_target(statement, load) or not load.index:
            continue
        steps = [step(x, columns) for x in load.index]
        along = [d for d, moved in enumerate(steps) if moved != 0]
        if not access.exact or len(along) > 1 or any(steps[d] != 1 for d in along):
            return None
        dimension = along[0] if along else -1
        found.append(Operand(load.array, access.ref, load, bool(along), dimension))
    return tuple(found)


def _serves(operands: tuple[Operand, ...], rows: int, total: int) -> bool:
    """Whether some operand is the same for all columns, another for all rows, and none moves
    with both."""
    moves = {o.ref: _moves_load(o.load, rows) for o in operands}
    by_row = [o for o in operands if moves[o.ref] and not o.along]
    by_column = [o for o in operands if o.along and not moves[o.ref]]
    both = [o for o in operands if o.along and moves[o.ref]]
    summed = all(_moves_load(o.load, total) for o in (*by_row, *by_column))
    return bool(by_row and by_column and summed and not both)


def _moves_load(load: Load, dim: int) -> bool:
    return any(_moves(x, dim) for x in load.index)


def _moves(index: Expr, dim: int) -> bool:
    return isinstance(index, Affine) and index.form.involves_dims(dim_type.in_, dim, 1)


def _is_uneven(program: ScheduledProgram, name: str, dims: tuple[int, ...]) -> bool:
    """Whether the lengths of loops depend on one another."""
    return any(
        sum(constraint.involves_dims(dim_type.set, d, 1) for d in dims) > 1
        for part in program.copies[name].domain.get_basic_sets()
        for constraint in part.get_constraints()
    )


class _Blocks:
    """Makes the plan of one contraction, in steps."""

    def __init__(
        self, plan: Plan, target: Target, sizes: Mapping[str, int], found: Contraction
    ) -> None:
        self.plan = plan
        self.found = found
        self.target = target
        size = plan.program.copies[found.copy].statement.value.type.bytes
        self.lanes = target.lanes(size)
        self.columns = VECTORS * self.lanes
        self.rows = most_rows(target)
        self.sum = self._sum(trips(plan.program, self._point(found.sum), sizes), size)
        length = trips(plan.program, self._point(found.rows), sizes)
        most = target.l2_bytes // 2 // (self.sum * size)
        each = UNEVEN_BLOCKS if found.is_uneven else BLOCKS
        blocks = max(each * target.cores, ceil(length / most))
        self.block = ceil(ceil(length / blocks) / self.rows) * self.rows

    def _sum(self, length: float, size: int) -> int:
        """How long a block of the sum is: all blocks about alike, and of a multiple of 32.

        Longer ones load and store results less often. The columns of a block lie in the first-level
        cache, or in the second where that delivers what a step needs while the core updates. There
        they share half of it with rows: with as many rows as the sum is long, or, where columns are
        not packed for each block of rows, with few.
        """
        target, costs = self.target, costs_of(self.target)
        updates = costs.arithmetic * VECTORS * self.rows
        if (self.rows + self.columns) * size / costs.bandwidth[0] > updates:
            most = target.l1_bytes * 2 // 3 // (self.columns * size)
        elif all(self._is_in_panels(o) for o in self.found.operands if o.along):
            most = target.l2_bytes // 2 // size // (FEWEST_BLOCKS * self.rows + self.columns)
        else:
            most = isqrt(target.l2_bytes // 2 // size)
        most = max(32, most // 32 * 32)
        return ceil(length / ceil(length / most) / 32) * 32

    def made(self) -> tuple[Plan, str, dict[str, float]]:
        """The plan, the loop of the sum, and the numbers that it is made with."""
        found, name = self.found, self.found.copy
        roles = (found.rows, found.columns, found.sum)
        self.plan = isolated(self.plan, name, roles)
        self.plan = self.plan.reorder(*(self._point(d).name for d in roles))
        rows, columns, total = (self._point(d).iterator for d in roles)
        is_short = self._is_short()
        sums = {} if is_short else {total: self.sum}
        self.plan = self.plan.tile(name, **{rows: self.block}, **sums)
        row_block = self._block(found.rows)
        sum_block = row_block if is_short else self._block(found.sum)
        self.plan = self.plan.tile(name, **{rows: self.rows, columns: self.columns})
        row_tile, column_tile = self._block(found.rows), self._block(found.columns)
        inner = [self._point(d).name for d in (found.sum, found.rows, found.columns)]
        blocks = dict.fromkeys((row_block, sum_block, column_tile, row_tile))
        self.plan = self.plan.reorder(*blocks, *inner)
        for operand in found.operands:
            if operand.along:
                if not self._is_in_panels(operand):
                    self._pack(operand, column_tile)
            elif _moves_load(operand.load, found.rows):
                self._pack(operand, sum_block)
        self.plan = (
            self.plan.unroll(inner[1]).vectorize(inner[2], self.lanes).register_tile(inner[0])
        )
        numbers = {
            "rows": self.rows, "columns": self.columns, "sum": self.sum, "block": self.block,
        }  # fmt: skip
        return self.plan, inner[0], {k: float(v) for k, v in numbers.items()}

    def _is_short(self) -> bool:
        """Whether the sum is never longer than a block of it."""
        length = constant_trips(self.plan.program, self._point(self.found.sum))
        return length is not None and length <= self.sum

    def _point(self, dim: int) -> PlanLoop:
        """The loop whose value is a dimension of the statement."""
        return point_loop(self.plan.program, self.found.copy, dim)

    def _block(self, dim: int) -> str:
        """The innermost loop over blocks of a dimension."""
        return block_loop(self.plan.program, self.found.copy, dim)

    def _pack(self, operand: Operand, at: str) -> None:
        """The operand in a buffer that is contiguous along the row, of which it knows alone."""
        rank = len(operand.load.index)
        order = [d for d in range(rank) if d != operand.dimension]
        order += [operand.dimension] if operand.along else []
        self.plan = self.plan.pack(
            operand.array,
            at=at,
            read=operand.ref if self._is_shared(operand) else None,
            order=None if order == list(range(rank)) else tuple(order),
            scaled=is_scaled(self.plan.program, self.found.copy, operand.load) or None,
        )

    def _is_in_panels(self, operand: Operand) -> bool:
        """Whether the columns of a register block lie side by side already, and those of the next
        step of the sum right behind them: rows of the array are as long as the block is wide."""
        index, array = operand.load.index, self.plan.scop.array(operand.array)
        return (
            operand.dimension == len(index) - 1 > 0
            and constant_tail(array.extents)[-1:] == (self.columns,)
            and step(index[-2], self.found.sum) == 1
        )

    def _is_shared(self, operand: Operand) -> bool:
        """Whether other references read the array, or the statement writes it."""
        statement = self.plan.program.copies[self.found.copy].statement
        others = [a for a in statement.reads if a.array == operand.array]
        return len(others) > 1
