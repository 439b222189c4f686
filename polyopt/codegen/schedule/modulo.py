"""After how many iterations of a loop its remainders and quotients repeat: 2 where it halves."""

from __future__ import annotations

from math import lcm
from typing import TYPE_CHECKING

from polyopt.codegen.schedule.accesses import lowered_statement
from polyopt.ir.expr import Affine, Inside, walk
from polyopt.isl import dim_type
from polyopt.transform.schedule.tree import copies_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.ir.expr import Expr
    from polyopt.isl import Aff, BasicSet
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop


def period(program: ScheduledProgram, loop: PlanLoop) -> int:
    """The least number after which every subscript and test in a loop has moved on as a whole."""
    result = 1
    for name in copies_in(loop):
        assignment, value = lowered_statement(program, name), loop.values[name]
        count = value.dim(dim_type.in_)
        moving = [d for d in range(count) if value.involves_dims(dim_type.in_, d, 1)]
        for expr in (*assignment.index, assignment.value):
            for node in walk(expr):
                for form in _forms(node):
                    result = lcm(result, *_divisors(form, moving))
    return result


def _forms(node: Expr) -> Iterator[Aff | BasicSet]:
    if isinstance(node, Affine):
        for where, value in node.form.get_pieces():
            yield value
            yield from where.compute_divs().get_basic_sets()
    if isinstance(node, Inside):
        yield from node.where.compute_divs().get_basic_sets()


def _divisors(form: Aff | BasicSet, moving: list[int]) -> Iterator[int]:
    for position in range(form.dim(dim_type.div)):
        part = form.get_div(position)
        if any(part.involves_dims(dim_type.in_, d, 1) for d in moving):
            yield part.get_denominator_val().to_python()
