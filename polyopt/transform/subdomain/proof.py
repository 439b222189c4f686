"""The proof of a section: what it computes of the box is what the whole program computes.

The section's dependences are computed anew, from its own domains and subscripts, and carried over
to the instances and elements of the whole program. There they have to be the whole program's:
each read that the section makes gets its value from the same instance or from the same element of
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


def prove_section(section: Subdomain, whole: Dependences) -> None:
    """Show that the section computes its box as the whole program does.

    Raises ``NotCutError`` with an instance that shows the difference, ``NotDecidedError`` on a
    spent budget.
    """
    own = dependences(section.scop)
    with budget(DEFAULT_BUDGET, f"the proof of {section.scop.name}"):
        context = section.context
        to_whole = section.to_whole.intersect_params(context)
        to_elements = section.to_elements.intersect_params(context)
        reading = _read_instances(section.instances, whole)
        flow = own.tagged_flow.apply_domain(to_whole).apply_range(_with_tags(own, to_whole))
        _same(
            section,
            "reads a value that another instance wrote",
            flow.intersect_params(context),
            whole.tagged_flow.intersect_range(reading).intersect_params(context),
        )
        given = own.live_in.apply_domain(_with_tags(own, to_whole)).apply_range(to_elements)
        _same(
            section,
            "reads another element of the caller's",
            given.intersect_params(context),
            whole.live_in.intersect_domain(reading).intersect_params(context),
        )
        box = section.elements
        last = own.live_out.apply_domain(to_whole).apply_range(to_elements)
        _same(
            section,
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


def _same(section: Subdomain, what: str, found: UnionMap, expected: UnionMap) -> None:
    if found.is_equal(expected):
        return
    wrong = found.subtract(expected).union(expected.subtract(found))
    first = next(iter(maps_of(wrong)))
    where = instance_of(first.wrap())
    name = tuple_name(first.range()) or tuple_name(first.domain())
    shown = "" if where is None else f": {where[1]} when {where[2]}"
    raise NotCutError(f"{section.scop.name} {what} ({name}{shown})")
