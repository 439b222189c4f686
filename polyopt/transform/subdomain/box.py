"""The box of results that a subdomain computes, as sets over its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.analysis.sets.ranges import typical_values
from polyopt.isl import (
    affine_constant,
    affine_param,
    affine_var,
    empty_set,
    integer_val,
    params_space,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.ir.scop import Array, Scop
    from polyopt.isl import PwAff, Set, Space, UnionSet

#: for what corner and size of the box its bounds are to be tight: in the middle of large arrays
_CORNER, _COUNT = 1 << 19, 1 << 16
_SMALL_CORNERS = (1 << 11, 1 << 7, 1 << 3, 0)


@dataclass(frozen=True)
class Axis:
    """A dimension along which results are cut: ``unit * first <= x < unit * first + count``.

    Where a program samples down, boxes begin at multiples of ``unit``, so that the slabs of its
    coarser arrays begin at multiples too.
    """

    dim: int
    first: str
    count: str
    unit: int = 1


@dataclass(frozen=True, eq=False)
class ParametricBox:
    """A box with corner and size as parameters: sets over all parameters."""

    params: tuple[str, ...]
    #: [N] -> { : ... }
    context: Set
    #: { A[x] : x in the box }, for each output
    elements: UnionSet
    typical: dict[str, int]

    @classmethod
    def of(cls, scop: Scop, outputs: Sequence[str], axes: Sequence[Axis]) -> ParametricBox:
        """The box of ``outputs``, cut along ``axes``, and values typical of it."""
        params = (*scop.params, *(name for a in axes for name in (a.first, a.count)))
        space = params_space(params)
        context = scop.context.align_params(space)
        extents = scop.array(outputs[0]).extents
        one, zero = affine_constant(space, 1), affine_constant(space, 0)
        for axis in axes:
            first, count = _first(axis, space), affine_param(space, axis.count)
            context = context.intersect(first.ge_set(zero)).intersect(count.ge_set(one))
            context = context.intersect(first.add(count).le_set(extents[axis.dim]))
        context = context.coalesce()
        elements = [_cut(scop, scop.array(name), axes, params, context) for name in outputs]
        wanted = {a.first: _CORNER // a.unit for a in axes} | {a.count: _COUNT for a in axes}
        typical = typical_values(context, scop.params, wanted)
        for corner in _SMALL_CORNERS:
            if all(typical[a.first] > 0 for a in axes):
                break
            wanted = {a.first: corner // a.unit for a in axes} | {
                a.count: max(1, corner // 4) for a in axes
            }
            typical = typical_values(context, scop.params, wanted)
        union = empty_set()
        for part in elements:
            union = union.union(part.to_union_set())
        return cls(params, context, union, typical)


def _first(axis: Axis, space: Space) -> PwAff:
    """``unit * first``."""
    unit = integer_val(axis.unit)
    return affine_param(space, axis.first).scale_val(unit)


def _cut(
    scop: Scop, array: Array, axes: Sequence[Axis], params: tuple[str, ...], context: Set
) -> Set:
    elements = array.elements(scop.params).align_params(params_space(params))
    space = elements.get_space()
    for axis in axes:
        index = affine_var(space, axis.dim)
        if array.lower:
            index = index.sub(array.lower[axis.dim].insert_domain(space))
        first, count = _first(axis, space), affine_param(space, axis.count)
        elements = elements.intersect(index.ge_set(first)).intersect(index.lt_set(first.add(count)))
    return elements.intersect_params(context)


def fresh(name: str, taken: set[str]) -> str:
    """The name, made longer until nothing else has it; it is taken then."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
