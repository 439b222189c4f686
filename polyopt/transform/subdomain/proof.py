"""The proof of a subdomain: what it computes of the box is what the whole program computes.

The subdomain's dependences are computed anew, from its own domains and subscripts, and carried over
to the instances and elements of the whole program. There they have to be the whole program's:
each read that the subdomain makes gets its value from the same instance or from the same element of
the caller's, and each element of the box has the same last writer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.dependences import DEFAULT_BUDGET, dependences
from polyopt.errors import NotCutError
from polyopt.isl import (
    Map,
    UnionMap,
    UnionSet,
    budget,
    instance_of,
    maps_of,
    tuple_name,
    union_all,
)

if TYPE_CHECKING:
    from polyopt.analysis.dependences import Dependences
    from polyopt.transform.subdomain.subdomain import Subdomain


def prove_subdomain(subdomain: Subdomain, whole: Dependences) -> None:
    """Show that the subdomain computes its box as the whole program does.

    Raises ``NotCutError`` with an instance that shows the difference, ``NotDecidedError`` on a
    spent budget.
    """
    own = dependences(subdomain.scop)
    with budget(DEFAULT_BUDGET, f"the proof of {subdomain.scop.name}"):
        context = subdomain.context
        to_whole = subdomain.to_whole.intersect_params(context)
        to_elements = subdomain.to_elements.intersect_params(context)
        reading = _read_instances(subdomain.instances, whole)
        flow = own.tagged_flow.apply_domain(to_whole).apply_range(_with_tags(own, to_whole))
        _same(
            subdomain,
            "reads a value that another instance wrote",
            flow.intersect_params(context),
            whole.tagged_flow.intersect_range(reading).intersect_params(context),
        )
        given = own.live_in.apply_domain(_with_tags(own, to_whole)).apply_range(to_elements)
        _same(
            subdomain,
            "reads another element of the caller's",
            given.intersect_params(context),
            whole.live_in.intersect_domain(reading).intersect_params(context),
        )
        box = subdomain.elements
        last = own.live_out.apply_domain(to_whole).apply_range(to_elements)
        _same(
            subdomain,
            "leaves another value in a result",
            last.intersect_range(box).intersect_params(context),
            whole.live_out.intersect_range(box).intersect_params(context),
        )


def _read_instances(instances: UnionSet, whole: Dependences) -> UnionSet:
    """``{ [S[i] -> ref[]] }`` of the instances."""
    tags = whole.scop.reads.domain().unwrap()
    return tags.intersect_domain(instances).wrap()


def _with_tags(own: Dependences, to_whole: UnionMap) -> UnionMap:
    """``{ [S[i'] -> ref[]] -> [S[i] -> ref[]] }``."""
    tags = own.scop.reads.domain().unwrap()
    return union_all(_tagged(part, to_whole) for part in maps_of(tags))


def _tagged(tag: Map, to_whole: UnionMap) -> UnionMap:
    one = tag.to_union_map()
    refs = one.range().identity()
    return to_whole.intersect_domain(one.domain()).product(refs)


def _same(subdomain: Subdomain, what: str, found: UnionMap, expected: UnionMap) -> None:
    if found.is_equal(expected):
        return
    wrong = found.subtract(expected).union(expected.subtract(found))
    first = next(iter(maps_of(wrong)))
    where = instance_of(first.wrap())
    name = tuple_name(first.range()) or tuple_name(first.domain())
    shown = "" if where is None else f": {where[1]} when {where[2]}"
    raise NotCutError(f"{subdomain.scop.name} {what} ({name}{shown})")
