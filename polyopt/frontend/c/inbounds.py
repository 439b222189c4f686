"""For which sizes a region stays in its arrays: the others keep the code as it was written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.isl import Set, params_space

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop


def within_arrays(scop: Scop) -> Scop:
    """The program for those sizes only at which every affine access stays in its array.

    Where there are none, the program is returned as it is: checking its bounds says why.
    """
    wrong = Set.empty(params_space(scop.params))
    for statement in scop.statements:
        for access in (statement.write, *statement.reads):
            if access.exact:
                elements = scop.array(access.array).elements(scop.params)
                relation = access.relation.intersect_params(scop.context)
                wrong = wrong.union(relation.subtract_range(elements).domain().params())
    context = scop.context.subtract(wrong).coalesce()
    return scop if context.is_empty() else replace(scop, context=context)
