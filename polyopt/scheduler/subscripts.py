"""How subscripts move with loops, and which statements update elements in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.codegen.lower.register_tile import is_arithmetic
from polyopt.ir.expr import Affine, Expr, Load, loads, same_expr
from polyopt.isl import affine_var, dim_type

if TYPE_CHECKING:
    from polyopt.ir.scop import Statement
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop


def updates(program: ScheduledProgram, name: str) -> bool:
    """Whether a copy is a statement of the source that updates elements of floats."""
    copy = program.copies[name]
    statement = copy.statement
    if copy.outer or copy.fills or not statement.value.type.is_float:
        return False
    own = [load for load in loads(statement.value) if is_target(statement, load)]
    return len(own) == 1 and is_arithmetic(statement.value)


def is_target(statement: Statement, load: Load) -> bool:
    """Whether a load is of the element that the statement updates."""
    return load.array == statement.array and all(map(same_expr, load.index, statement.index))


def dimension_of(program: ScheduledProgram, name: str, loop: PlanLoop) -> int | None:
    """The dimension of a copy that a loop's value is."""
    value = loop.values[name]
    space = program.copies[name].domain.get_space()
    for position in range(space.dim(dim_type.set)):
        if value.involves_dims(dim_type.in_, position, 1):
            return position if value.plain_is_equal(affine_var(space, position)) else None
    return None


def step(index: Expr, dim: int) -> int | None:
    """How far a subscript moves with a dimension; ``None`` where that is not a number."""
    if not isinstance(index, Affine):
        return None
    pieces = index.form.get_pieces()
    if len(pieces) != 1:
        return None
    moved = pieces[0][1].get_coefficient_val(dim_type.in_, dim)
    return moved.to_python() if moved.is_int() else None
