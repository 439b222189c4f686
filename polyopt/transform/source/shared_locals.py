"""Array contraction of locals: one array for all iterations of a loop that each had their own.

rewrite: ``for (t) { float b[N]; for (i) b[i] = f(a, i); ... }`` -> the same with ``b`` outside.

What an iteration reads of it, it has written itself, so that nothing comes from the one before.
Other changes of a program, which ask where an array's values go, then see one array.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.ir.expr import Expr, Load, rewrite
from polyopt.ir.scop import statements_in
from polyopt.isl import affine_constant

if TYPE_CHECKING:
    from polyopt.ir.scop import Array, Loop, Scop, Statement


def with_shared_locals(scop: Scop, node: Loop) -> Scop:
    """The program whose arrays that each iteration of an outermost loop has for itself, and no loop
    inside it, are one array each; itself where there are none."""
    inside = {*statements_in(node)}
    names = {a.name for a in scop.arrays if a.private == 1 and a.rank > 1}
    for statement in scop.statements:
        if statement.name not in inside:
            names -= {statement.array, *(access.array for access in statement.reads)}
    if not names:
        return scop
    arrays = tuple(_shared(a) if a.name in names else a for a in scop.arrays)
    statements = tuple(_without_iteration(s, names) for s in scop.statements)
    return replace(scop, arrays=arrays, statements=statements)


def _shared(array: Array) -> Array:
    lower = array.lower[1:]
    if all(low.is_equal(affine_constant(low.get_domain_space(), 0)) for low in lower):
        lower = ()
    return replace(array, extents=array.extents[1:], lower=lower, private=0)


def _without_iteration(statement: Statement, names: set[str]) -> Statement:
    """A statement whose accesses to some arrays do not say any more in which iteration."""

    def changed(node: Expr) -> Expr:
        if isinstance(node, Load) and node.array in names:
            return replace(node, index=node.index[1:])
        return node

    index = statement.index[1:] if statement.array in names else statement.index
    return replace(statement, index=index, value=rewrite(statement.value, changed))
