"""Whether two programs are the same, by value: a named function, as ``==`` is identity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.ir.expr import loads, same_expr

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop, Statement


@checks_arguments
def same_scop(one: Scop, other: Scop) -> bool:
    """Whether two programs are the same: sets and relations by value, expressions node by node,
    loop structure without iterator names. Names of arrays, statements and parameters count.
    """
    return (
        one.params == other.params
        and one.context.is_equal(other.context)
        and [(a.name, a.type, a.role) for a in one.arrays]
        == [(a.name, a.type, a.role) for a in other.arrays]
        and all(
            a.elements(one.params).is_equal(b.elements(other.params))
            for a, b in zip(one.arrays, other.arrays, strict=True)
        )
        and [s.name for s in one.statements] == [s.name for s in other.statements]
        and all(map(_same_statement, one.statements, other.statements))
        and one.schedule.is_equal(other.schedule)
    )


def _same_statement(one: Statement, other: Statement) -> bool:
    return (
        one.domain.is_equal(other.domain)
        and one.array == other.array
        and one.write.relation.is_equal(other.write.relation)
        and all(same_expr(a, b) for a, b in zip(one.index, other.index, strict=True))
        and same_expr(one.value, other.value)
        and len(loads(one.value)) == len(loads(other.value))
    )


def same_target(one: Statement, other: Statement) -> bool:
    """Whether two statements have the same instances, and write one element each, the same."""
    return (
        one.array == other.array
        and one.domain.is_equal(other.domain)
        and len(one.index) == len(other.index)
        and all(map(same_expr, one.index, other.index))
        and not one.spread
        and not other.spread
    )
