"""Bounds that sizes have by their types, which are kept from isl.

Where isl looks for a bound of several parts together, it may find none by a size, and take the
largest number that a size can be for one: ``for (i = 0; i <= 4294967295; i++)`` over nothing but
for its start, or a buffer of ``4398046511101 + n`` elements.
"""

from __future__ import annotations

from typing import TypeVar

from polyopt.isl import Map, Set, UnionSet, largest_params

#: iterations of a loop without a body that take no time to speak of
_LONG = 1 << 16
T = TypeVar("T", Set, Map, UnionSet)


def without_type_bounds(instances: T, context: Set) -> T:
    """Instances, ``[n] -> { C[i] }``, for sizes that the context allows, as isl is told of them."""
    within = instances.intersect_params(context)
    largest = largest_params(context, _LONG)
    return within if largest.plain_is_universe() else within.gist_params(largest)
