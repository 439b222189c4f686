"""Bounds that sizes have by their types, which are kept from isl.

Where isl looks for a bound of several parts together, it may find none by a size, and take the
largest number that a size can be for one: ``for (i = 0; i <= 4294967295; i++)`` over nothing but
for its start, or a buffer of ``4398046511101 + n`` elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from polyopt.isl import largest_params

if TYPE_CHECKING:
    from polyopt.isl import Map, Set

    Relation = TypeVar("Relation", Map, Set)

#: iterations of a loop without a body that take no time to speak of
_LONG = 1 << 16


def without_type_bounds(relation: Relation, context: Set) -> Relation:
    """``[n] -> { C[i] -> A[x] }`` or ``{ C[i] }`` for sizes that the context allows, as isl is told
    of them."""
    within = relation.intersect_params(context)
    largest = largest_params(context, _LONG)
    return within if largest.plain_is_universe() else within.gist_params(largest)
