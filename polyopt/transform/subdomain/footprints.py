"""Footprints: what of each array a subdomain touches, and how that lies in the whole array."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.analysis.sets.ranges import Range, param_range
from polyopt.ir.block import Block
from polyopt.ir.expr import Affine, Load, walk
from polyopt.isl import affine_constant, sets_of, tuple_name
from polyopt.transform.subdomain.box import fresh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.ir.scop import Array, Scop, Statement
    from polyopt.isl import PwAff, Set
    from polyopt.transform.subdomain.box import ParametricBox


@dataclass(frozen=True, eq=False)
class Footprint:
    """The footprint of a subdomain in one array: where its own array lies in the whole one.

    Element ``x`` of the subdomain is element ``x + shift`` of the whole. Some of its elements may
    lie outside the whole array: no instance touches those.
    """

    #: [N] -> { [shift] }, one per dimension
    shift: tuple[PwAff, ...]
    #: [N] -> { [offset] }: how many elements of the whole come before the first one
    offset: tuple[PwAff, ...]
    #: [N] -> { [extent] } of what is touched
    extents: tuple[PwAff, ...]
    #: per dimension the parameter that says how far apart its neighbours lie in memory, as the
    #: extent of the array that the slab is a part of; empty where the extent itself says so
    spans: tuple[str, ...]
    #: dimensions of which the slab is all there is
    whole: tuple[bool, ...]
    #: whether all that is touched belongs to the box, or is only read: the memory of the whole
    #: array can stand for the slab
    shared: bool


def slabs_of(
    scop: Scop,
    kept: Sequence[Statement],
    parts: Mapping[str, Set],
    box: ParametricBox,
    offsets: Mapping[str, list[PwAff]],
) -> dict[str, Footprint]:
    """What of each array the instances touch."""
    touched: dict[str, Set] = {tuple_name(p): p for p in sets_of(box.elements)}
    opaque: set[str] = set()
    for statement in kept:
        for access in (*statement.reads, statement.write):
            found = access.relation.intersect_domain(parts[statement.name]).range()
            elements = scop.elements[access.array]
            found = found.intersect(elements)
            known = touched.get(access.array)
            touched[access.array] = found if known is None else known.union(found)
        if isinstance(statement.value, Block):
            opaque.add(statement.array)
    taken = {*box.params, *(a.name for a in scop.arrays)}
    inexact = _inexact(kept)
    result: dict[str, Footprint] = {}
    for array in scop.arrays:
        if array.name not in touched:
            continue
        every = set(range(array.rank))
        fixed = every if array.name in opaque else inexact.get(array.name, set[int]())
        exact = array.role == "in" or touched[array.name].is_equal(
            box.elements.extract_set(touched[array.name].get_space())
        )
        result[array.name] = _slab(array, touched[array.name], fixed, box, taken, shared=exact)
    for array in scop.arrays:
        if array.private and array.name in result:
            writer = next(s for s in kept if s.array == array.name)
            result[array.name] = _private(array, result[array.name], offsets[writer.name])
    return result


def _inexact(kept: Sequence[Statement]) -> dict[str, set[int]]:
    """Dimensions of arrays along which data say what is touched."""
    found: dict[str, set[int]] = {}
    for statement in kept:
        for k in statement.spread:
            found.setdefault(statement.array, set()).add(k)
        for node in walk(statement.value):
            if not isinstance(node, Load):
                continue
            dims = {k for k, part in enumerate(node.index) if not isinstance(part, Affine)}
            found.setdefault(node.array, set()).update(dims)
    return found


def _slab(
    array: Array,
    touched: Set,
    fixed: set[int],
    box: ParametricBox,
    taken: set[str],
    *,
    shared: bool,
) -> Footprint:
    space = box.context.get_space()
    zero = affine_constant(space, 0)
    shift: list[PwAff] = []
    offset: list[PwAff] = []
    extents: list[PwAff] = []
    spans: list[str] = []
    whole: list[bool] = []
    for k, extent in enumerate(array.extents):
        begin = array.lower[k].align_params(space) if array.lower else zero
        found = None if k in fixed else param_range(touched, k, box.typical)
        if found is None or _is_all(found, begin, extent, box.context):
            shift.append(zero)
            offset.append(zero)
            extents.append(extent.align_params(space))
            spans.append("")
            whole.append(True)
            continue
        low = found.low.align_params(space)
        shift.append(low)
        offset.append(low.sub(begin).coalesce())
        extents.append(_positive(found, box.context).align_params(space))
        # a temporary is the subdomain's own; the outermost dimension needs no distance
        has_span = k > 0 and array.role != "temp" and shared
        spans.append(fresh(f"{array.name}_span{k}", taken) if has_span else "")
        whole.append(False)
    return Footprint(
        tuple(shift), tuple(offset), tuple(extents), tuple(spans), tuple(whole), shared
    )


def _private(array: Array, slab: Footprint, offsets: Sequence[PwAff]) -> Footprint:
    """A variable of each iteration begins where the loops around it do."""
    shift, extents = list(slab.shift), list(slab.extents)
    for k in range(array.private):
        extents[k] = extents[k].add(shift[k]).sub(offsets[k]).coalesce()
        shift[k] = offsets[k]
    return replace(slab, shift=tuple(shift), extents=tuple(extents))


def _is_all(found: Range, begin: PwAff, extent: PwAff, context: Set) -> bool:
    same = found.low.eq_set(begin)
    same = same.intersect(found.extent.eq_set(extent))
    return context.is_subset(same)


def _positive(found: Range, context: Set) -> PwAff:
    """The extent; 1 where the bounds, which cross where nothing is touched, give less."""
    extent = found.extent
    one = affine_constant(extent.get_domain_space(), 1)
    if extent.lt_set(one).intersect(context).is_empty():
        return extent
    return extent.max(one).coalesce()
