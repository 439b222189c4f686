"""What depends on a change: the image of a box of inputs through the dependences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.analysis.needed import components
from polyopt.analysis.sets.points import parameter_value
from polyopt.isl import (
    Set,
    UnionMap,
    UnionSet,
    affine_constant,
    affine_var,
    budget,
    context,
    dim_type,
    empty_set,
    integer_val,
    maps_of,
    sets_of,
    tuple_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.analysis.dependences import Dependences

#: half-open ranges, one per dimension
Ranges = tuple[tuple[int, int], ...]
_BUDGET = 200_000_000


@dataclass(frozen=True)
class Affected:
    """The elements of a result that depend on a change."""

    #: disjoint boxes, in positions from 0, that hold all of them
    boxes: tuple[Ranges, ...]
    #: how many elements depend on the change
    count: int


def affected(
    deps: Dependences, dirty: Mapping[str, Ranges], sizes: Mapping[str, int]
) -> dict[str, Affected]:
    """Per result, what may differ when the ``dirty`` elements of inputs do.

    Exactly the elements whose computation reads a dirty one, by way of any dependences; rounded
    up to boxes. Raises ``NotDecidedError``.
    """
    scop = deps.scop
    with budget(_BUDGET, f"what depends on a change in {scop.name}"):
        touched = _touched(deps, dirty, sizes)
        written = _fixed_map(deps.live_out, sizes).intersect_domain(touched).range()
        found = {tuple_name(part): part for part in sets_of(written)}
        result: dict[str, Affected] = {}
        for array in scop.arrays:
            if not array.is_live_out:
                continue
            if array.name not in found:
                result[array.name] = Affected((), 0)
                continue
            part = found[array.name].coalesce()
            count = part.count_val().to_python()
            firsts = [parameter_value(low, sizes) for low in array.lower]
            result[array.name] = Affected(_boxes(part, firsts), count)
        return result


def _touched(deps: Dependences, dirty: Mapping[str, Ranges], sizes: Mapping[str, int]) -> UnionSet:
    """``{ S[i] }``: instances that see a dirty element, or the value of one that does."""
    scop = deps.scop
    elements = empty_set()
    for name, ranges in dirty.items():
        array = scop.array(name)
        part = _fixed(array.elements(scop.params), sizes)
        firsts = [parameter_value(low, sizes) for low in array.lower] or [0] * array.rank
        for position, ((low, high), first) in enumerate(zip(ranges, firsts, strict=True)):
            value = affine_var(part.get_space(), position)
            start = affine_constant(part.get_space(), low + first)
            stop = affine_constant(part.get_space(), high + first)
            part = part.intersect(value.ge_set(start)).intersect(value.lt_set(stop))
        elements = elements.union(part.to_union_set())
    live_in = _fixed_map(deps.live_in.domain_factor_domain(), sizes)
    flow = _fixed_map(deps.flow, sizes)
    touched = live_in.intersect_range(elements).domain()
    for members in components([s.name for s in scop.statements], deps.flow):
        inside = _between(flow, members, members)
        if not inside.is_empty():
            touched = _forward(touched, inside)
        touched = touched.union(flow.intersect_domain(_of(touched, members)).range()).coalesce()
    return touched


def _forward(touched: UnionSet, flow: UnionMap) -> UnionSet:
    """All that a circle of statements passes on, step by step."""
    while True:
        more = touched.union(flow.intersect_domain(touched).range()).coalesce()
        if more.is_subset(touched):
            return touched
        touched = more


def _of(instances: UnionSet, names: set[str]) -> UnionSet:
    result = empty_set()
    for part in sets_of(instances):
        if tuple_name(part) in names:
            result = result.union(part.to_union_set())
    return result


def _between(flow: UnionMap, writers: set[str], readers: set[str]) -> UnionMap:
    result = UnionMap.empty_ctx(context())
    for part in maps_of(flow):
        if tuple_name(part, dim_type.in_) in writers and tuple_name(part, dim_type.out) in readers:
            result = result.union(part.to_union_map())
    return result


def _fixed(part: Set, sizes: Mapping[str, int]) -> Set:
    for name, number in sizes.items():
        position = part.find_dim_by_name(dim_type.param, name)
        if position >= 0:
            part = part.fix_val(dim_type.param, position, integer_val(number))
    return part.project_out_all_params()


def _fixed_map(relation: UnionMap, sizes: Mapping[str, int]) -> UnionMap:
    result = UnionMap.empty_ctx(context())
    for part in maps_of(relation):
        result = result.union(_fixed(part.wrap(), sizes).unwrap().to_union_map())
    return result


def _boxes(part: Set, firsts: list[int]) -> tuple[Ranges, ...]:
    """Disjoint boxes around the pieces of a set of elements."""
    boxes: list[Ranges] = []
    for basic in part.make_disjoint().get_basic_sets():
        piece = basic.to_set()
        if piece.is_empty():
            continue
        boxes.append(
            tuple(
                (
                    piece.dim_min_val(k).to_python() - first,
                    piece.dim_max_val(k).to_python() + 1 - first,
                )
                for k, first in enumerate(firsts or [0] * piece.dim(dim_type.set))
            )
        )
    return merged(boxes)


def merged(boxes: list[Ranges]) -> tuple[Ranges, ...]:
    """Boxes that overlap made one, until none do."""
    result: list[Ranges] = []
    for box in sorted(boxes):
        here = box
        while (other := next((b for b in result if _overlap(b, here)), None)) is not None:
            result.remove(other)
            here = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(other, here, strict=True))
        result.append(here)
    return tuple(sorted(result))


def _overlap(one: Ranges, other: Ranges) -> bool:
    return all(a < d and c < b for (a, b), (c, d) in zip(one, other, strict=True))
