"""Transposes in tiles: rows of one array that are another's columns run square by square.

``for (y) for (x) out[y][x] = f(in[x][y]);`` walks one of the arrays against its rows, whatever the
order of its loops. In squares of a vector's lanes both are walked along rows, and the elements of
a square change places in registers (``codegen/passes/transpose_in_registers.py``).

rewrite: ``for (y) for (x)`` -> ``for (y_tile) for (x_tile) for (y) for (x)``

*Requires* lengths that are constant and have a divisor near the lanes, so that all squares are
whole, and target with vectors of so many lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.codegen.helpers.transpose import BITS, SIDE
from polyopt.errors import UserError
from polyopt.ir.block import Block
from polyopt.ir.expr import Affine, Inside, loads, walk
from polyopt.scheduler.model.instances import constant_trips
from polyopt.scheduler.queries import checked
from polyopt.scheduler.subscripts import dimension_of, step
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.schedule.tree import PlanLoop, copies_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.codegen.target import Target
    from polyopt.ir.expr import Expr, Load
    from polyopt.ir.scop import Statement
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram

#: fewer rows or columns than this leave most of a square empty
LEAST = 7


@dataclass(frozen=True)
class _Crossing:
    """A nest, from the outside in, and its loops along the rows of what is read and written."""

    copy: str
    path: tuple[PlanLoop, ...]
    read: PlanLoop
    written: PlanLoop
    #: of a square, by iterator
    sizes: dict[str, float]


def transposes(
    plan: Plan, target: Target, *, operands: bool = False
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with every such nest in squares.

    With ``operands`` those alone that stand apart because their readers test where they are. Their
    loops are marked: no rows of a reader pull them in.
    """
    if not _has_squares(target):
        return plan, ()
    remarks: list[Remark] = []
    for name in list(plan.program.places):
        found = _crossing(plan.program, name)
        if found is None or (operands and not _is_tested(plan.program, name)):
            continue
        try:
            changed = _in_squares(plan, found)
            marked = changed.vectorize(found.written.name)
            checked(marked, found.written.name)
        except UserError as error:
            remarks.append(refusal("transpose", found.written.name, error))
            continue
        plan = marked if operands else changed
        array = plan.program.copies[name].statement.array
        reason = "rows of what it reads are columns of what it writes: squares of both"
        remarks.append(Remark("applied", "transpose", array, reason, numbers=found.sizes))
    return plan, tuple(remarks)


def across(program: ScheduledProgram, target: Target) -> frozenset[str]:
    """The copies that run in squares of the target's vectors."""
    if not _has_squares(target):
        return frozenset()
    return frozenset(name for name in program.places if _crossing(program, name) is not None)


def _has_squares(target: Target) -> bool:
    """Whether a vector of the target is a square's row."""
    return target.lanes(BITS // 8) == SIDE


def tests(statement: Statement) -> bool:
    """Whether a statement computes something else in some places than in others."""
    return any(isinstance(node, Inside) for node in walk(statement.value))


def _is_tested(program: ScheduledProgram, name: str) -> bool:
    """Whether a copy writes an operand of a statement with tests."""
    array = program.copies[name].statement.array
    readers = (program.copies[reader].statement for reader in program.readers(array))
    return program.scop.array(array).role == "temp" and any(map(tests, readers))


def _crossing(program: ScheduledProgram, name: str) -> _Crossing | None:
    """The nest of a copy that reads along one loop and writes along another."""
    copy, path = program.copies[name], program.places[name].loops
    statement = copy.statement
    if statement.reduction is not None or isinstance(statement.value, Block) or not path:
        return None
    if statement.value.type.bits != BITS or any(loop.mark for loop in path):
        return None
    whole = next((k for k, loop in enumerate(path) if copies_in(loop) == (name,)), len(path))
    if not statement.index:
        return None
    dims = ((dimension_of(program, name, loop), loop) for loop in path[whole:])
    nest = {d - copy.outer: loop for d, loop in dims if d is not None and d >= copy.outer}
    written = _along(statement.index, nest)
    crossing = {
        read
        for load in loads(statement.value)
        if (read := _across(load, nest, written)) is not None
    }
    if written is None or len(crossing) != 1:
        return None
    (read,) = crossing
    if not any(step(index, read) for index in statement.index[:-1]):
        return None
    start = min(path.index(nest[read]), path.index(nest[written]))
    trips = {loop.iterator: constant_trips(program, loop) for loop in (nest[read], nest[written])}
    sizes = {iterator: float(_side(count or 0)) for iterator, count in trips.items()}
    if min(sizes.values()) < LEAST:
        return None
    return _Crossing(name, path[start:], nest[read], nest[written], sizes)


def _along(index: Sequence[Expr], nest: dict[int, PlanLoop]) -> int | None:
    """The one dimension that walks the last subscript, element by element; no other moves it."""
    moving = {d: step(index[-1], d) for d in nest if step(index[-1], d) != 0}
    return next(iter(moving)) if list(moving.values()) == [1] else None


def _across(load: Load, nest: dict[int, PlanLoop], written: int | None) -> int | None:
    """The dimension along whose rows a load goes, where ``written`` moves it from row to row."""
    if written is None or not load.index or not all(isinstance(x, Affine) for x in load.index):
        return None
    read = _along(load.index, nest)
    if read is None or read == written or load.type.bits != BITS:
        return None
    rows = [index for index in load.index[:-1] if step(index, written) != 0]
    crossed = len(rows) == 1 and not any(step(index, read) for index in load.index[:-1])
    return read if crossed else None


def _in_squares(plan: Plan, found: _Crossing) -> Plan:
    """The plan with both loops innermost, in blocks of a square."""
    outer = [loop.name for loop in found.path]
    for loop in (found.read, found.written):
        size = int(found.sizes[loop.iterator])
        if size == constant_trips(plan.program, loop):
            outer.remove(loop.name)
            continue
        plan = plan.split(loop.name, size)
        path = [node.name for node in plan.program.places[found.copy].loops]
        outer[outer.index(loop.name)] = path[path.index(loop.name) - 1]
    return plan.reorder(*outer, found.read.name, found.written.name)


def _side(trips: int) -> int:
    """The largest part of a length that fits a square and leaves no rest; 0 for none."""
    return max((n for n in range(1, SIDE + 1) if trips and trips % n == 0), default=0)
