"""How subscripts move with loops, and which statements update elements in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.codegen.lower.register_tile import is_arithmetic
from polyopt.ir.expr import Affine, Expr, Load, loads, same_expr
from polyopt.isl import PwMultiAff, affine_var, constant_value, dim_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Statement
    from polyopt.isl import PwAff, Set
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop


def updates(program: ScheduledProgram, name: str, *, dots: bool = False) -> bool:
    """Whether a copy is a statement of the source that updates elements of floats; with ``dots``
    also one that adds dot products of packed pairs to them."""
    copy = program.copies[name]
    statement = copy.statement
    if copy.outer or copy.fills or not (dots or statement.value.type.is_float):
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
    return _coefficient(index.form, dim) if isinstance(index, Affine) else None


def steps_of_read(
    program: ScheduledProgram, name: str, array: str
) -> tuple[Mapping[int, int], ...] | None:
    """Of the element of an array that an instance reads, itself or by what is computed in it: per
    subscript, by how much each dimension moves it. ``None`` where it reads several, or none."""
    touches = program.reads_of(array, (name,))
    # { H[d] -> A[x] }
    relations = [touch.at_host.reverse().apply_range(touch.element) for touch in touches]
    if not relations or not all(relation.is_equal(relations[0]) for relation in relations):
        return None
    if not relations[0].is_single_valued():
        return None
    values = PwMultiAff.from_map(relations[0])
    forms = [values.get_pw_aff(d) for d in range(values.dim(dim_type.out))]
    found = [[_coefficient(form, d) for d in range(form.dim(dim_type.in_))] for form in forms]
    if any(None in each for each in found):
        return None
    return tuple({d: by for d, by in enumerate(each) if by} for each in found)


def _coefficient(form: PwAff, dim: int) -> int | None:
    pieces = form.get_pieces()
    if len(pieces) != 1:
        return None
    moved = pieces[0][1].get_coefficient_val(dim_type.in_, dim)
    return moved.to_python() if moved.is_int() else None


def length_of(domain: Set, dim: int) -> int | None:
    """The number of values of a dimension, if it is the same everywhere."""
    first, last = domain.dim_min(dim), domain.dim_max(dim)
    size = constant_value(last.sub(first).gist_params(domain.params()).coalesce())
    return size + 1 if size is not None else None
