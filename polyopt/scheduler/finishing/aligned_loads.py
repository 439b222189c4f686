"""Aligned loads: shifted vectors of neighbours in a row, where a vector is as long as a line.

Each load of a neighbour then lies across two lines. On an AMD EPYC of 2024 a five-point stencil in
the first cache takes 7.5 cycles a vector so, and 4 where neighbours come from aligned vectors
(``codegen/passes/aligned_loads.py``); where rows of several arrays begin apart from each other,
5.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.codegen.helpers.nontemporal import LINE
from polyopt.codegen.schedule.accesses import lowered_statement
from polyopt.ir.expr import Affine, Binary, Const, Load, Unary, without_subscripts
from polyopt.scheduler.model.instances import trips
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import loops_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.ir.expr import Expr
    from polyopt.ir.types import ScalarType
    from polyopt.isl import PwAff
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: rows of fewer vectors spend much of their time before the first line and after the last
LEAST_VECTORS = 16
#: operations that vectors have as numbers do
_OPS = {"add", "sub", "mul", "div"}


def from_whole_vectors(plan: Plan, model: SearchContext) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with such loops in whole vectors of the target."""
    if model.target.vector_bytes < LINE:
        return plan, ()
    remarks: list[Remark] = []
    for loop in list(loops_of(plan.program.tree)):
        if loop.mark != "vector" or loop.width or loop.separate or _is_nontemporal(plan, loop):
            continue
        found = _neighbours(plan.program, loop) if _is_innermost(loop) else None
        if found is None:
            continue
        type_, near = found
        lanes = model.target.lanes(type_.bytes)
        long = trips(plan.program, loop, model.sizes)
        numbers = {"neighbours": float(near), "vectors of a row": long / lanes}
        if long < LEAST_VECTORS * lanes:
            reason = "rows are too short for loads of whole vectors alone"
            remarks.append(Remark("refused", "vectorize", loop.name, reason, numbers=numbers))
            continue
        plan = plan.vectorize(loop.name, lanes, aligned=True)
        reason = "neighbours, whose loads would lie across two lines, come from whole vectors"
        remarks.append(Remark("applied", "vectorize", loop.name, reason, numbers=numbers))
    return plan, tuple(remarks)


def _is_innermost(loop: PlanLoop) -> bool:
    return all(inner.mark == "unroll" for inner in loops_of(loop.body))


def _is_nontemporal(plan: Plan, loop: PlanLoop) -> bool:
    """Whether what a loop writes has non-temporal stores, in strips."""
    program = plan.program
    return any(program.copies[name].statement.array in program.nontemporal for name in loop.copies)


def _neighbours(program: ScheduledProgram, loop: PlanLoop) -> tuple[ScalarType, int] | None:
    """The type of the numbers in a loop, and its loads next to others in their row; ``None``
    without any, or where it computes what is no arithmetic on one type."""
    values = [lowered_statement(program, name).value for name in loop.copies]
    type_ = values[0].type
    if not type_.is_float or type_.is_half or not all(map(_is_arithmetic, values)):
        return None
    loads = [load for value in values for load in _loads(value)]
    if any(e.type != type_ for value in values for e in without_subscripts(value)):
        return None
    near = sum(any(_is_next(load, other) for other in loads[:k]) for k, load in enumerate(loads))
    return (type_, near) if near else None


def _loads(value: Expr) -> Iterator[Load]:
    return (part for part in without_subscripts(value) if isinstance(part, Load))


def _is_arithmetic(value: Expr) -> bool:
    return all(
        isinstance(part, (Const, Load))
        or (isinstance(part, Binary) and part.op in _OPS)
        or (isinstance(part, Unary) and part.op == "neg")
        for part in without_subscripts(value)
    )


def _is_next(one: Load, other: Load) -> bool:
    """Whether two loads are of one row, a constant number of elements apart."""
    if one.array != other.array or not one.index:
        return False
    apart: list[int | None] = []
    for a, b in zip(one.index, other.index, strict=True):
        if not isinstance(a, Affine) or not isinstance(b, Affine):
            return False
        if a.form.get_space() != b.form.get_space():
            return False
        apart.append(_constant(a.form.sub(b.form)))
    return bool(apart[-1]) and not any(apart[:-1]) and None not in apart


def _constant(form: PwAff) -> int | None:
    """The whole number that an expression is wherever it is defined, or ``None``."""
    pieces = form.get_pieces()
    if len(pieces) != 1 or not pieces[0][1].is_cst():
        return None
    number = pieces[0][1].get_constant_val()
    return number.to_python() if number.is_int() else None
