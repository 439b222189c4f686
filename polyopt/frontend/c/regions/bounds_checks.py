"""For which sizes a region stays in its arrays: the others keep the code as it was written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.frontend.c.lower.declarations import plain
from polyopt.isl import Set, dim_type, params_space

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.ir.scop import Access, Scop
    from polyopt.isl import Map


def within_arrays(scop: Scop) -> Scop:
    """The program for those sizes only at which every affine access stays in its array.

    Where the exact condition has several cases (a loop is empty, or its bound is below the
    extent), it is the one without: code for every case would be long. Where no sizes are left, the
    program is returned as it is: checking its bounds says why.
    """
    leaving = [(access, wrong) for access, wrong in _leaving(scop) if not wrong.is_empty()]
    context = scop.context
    for _, wrong in leaving:
        context = context.subtract(wrong.domain().params())
    context = context.coalesce()
    if context.n_basic_set() > 1:
        simple = scop.context
        for access, wrong in leaving:
            simple = simple.intersect(_enough(scop, access, wrong)).coalesce()
        context = context if simple.is_empty() else simple
    return scop if context.is_empty() else replace(scop, context=context)


def _leaving(scop: Scop) -> Iterator[tuple[Access, Map]]:
    """The affine accesses with what they touch outside: ``{ S[i] -> A[x] }``."""
    for statement in scop.statements:
        for access in (statement.write, *statement.reads):
            if access.exact:
                elements = scop.elements[access.array]
                relation = access.relation.intersect_params(scop.context)
                yield access, relation.subtract_range(elements)


def _enough(scop: Scop, access: Access, wrong: Map) -> Set:
    """``[N] -> { : ... }``: sizes at which all subscripts of an access, if any, are in order."""
    array = scop.array(access.array)
    touched = access.relation.intersect_params(scop.context).range()
    result = Set.universe(params_space(scop.params))
    for position, extent in enumerate(array.extents):
        for bound, side in ((touched.dim_max(position), "lt"), (touched.dim_min(position), "ge")):
            limit = plain(bound)
            if limit.n_piece() != 1:
                return result.subtract(wrong.domain().params())
            low = array.lower[position] if array.lower else extent.sub(extent)
            holds = limit.lt_set(low.add(extent)) if side == "lt" else limit.ge_set(low)
            result = result.intersect(holds.params() if holds.dim(dim_type.set) else holds)
    return result
