"""Where values live: scratch buffers, their layout, and the cells that copies access.

rewrite: ``bx[y][x]`` becomes ``scratch[y - y0][x - x0]``, or ``scratch[y % 3][x]`` when folded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.isl import (
    Map,
    PwAff,
    Set,
    Space,
    Val,
    affine_var,
    context,
    dim_type,
    instance_space,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.transform.tree import Place


@dataclass(frozen=True, eq=False)
class Scratch:
    """A buffer that lives for one iteration of a loop, private to it.

    It holds ``array`` for all copies inside loop ``at`` ("" means the whole program). In each
    dimension the index is ``x - offset(t)``, or ``x mod fold`` where folded.
    """

    name: str
    array: str
    at: str
    #: number of loops from the root down to ``at``, including it
    depth: int
    #: { [t] -> [offset] } per dimension of the array
    offsets: tuple[PwAff, ...]
    #: [N] -> { [extent] } per dimension; a folded one is its fold
    extents: tuple[PwAff, ...]
    folds: tuple[int, ...] = ()

    def fold(self, dimension: int) -> int:
        """The modulus of a dimension; 0 where it is not folded."""
        return self.folds[dimension] if self.folds else 0

    @property
    def is_folded(self) -> bool:
        """Whether any dimension wraps around."""
        return any(self.folds)


def layout(scratch: Scratch, array: Set) -> Map:
    """``{ [[t] -> A[x]] -> scratch[t, index] : 0 <= index < extent }`` for an array's elements.

    The loop values are part of the cell: each iteration of ``at`` has a buffer of its own.
    """
    rank = array.dim(dim_type.set)
    params = [array.get_dim_name(dim_type.param, i) or "" for i in range(array.dim(dim_type.param))]
    times = instance_space(params, "", [f"t{i}" for i in range(scratch.depth)])
    pairs = times.map_from_domain_and_range(array.get_space()).wrap()
    result = Map.from_domain(Set.universe(pairs))
    for level in range(scratch.depth):
        result = result.flat_range_product(Map.from_pw_aff(affine_var(pairs, level)))
    for position in range(rank):
        index = affine_var(pairs, scratch.depth + position)
        if scratch.fold(position):
            index = index.mod_val(Val.int_from_si(context(), scratch.fold(position)))
        else:
            index = index.sub(_of_times(scratch.offsets[position], pairs))
        inside = index.nonneg_set().intersect(
            index.lt_set(scratch.extents[position].insert_domain(pairs))
        )
        result = result.flat_range_product(Map.from_pw_aff(index)).intersect_domain(inside)
    return result.set_tuple_name(dim_type.out, scratch.name)


def _of_times(offset: PwAff, pairs: Space) -> PwAff:
    """``{ [t] -> [o] }`` as ``{ [[t] -> A[x]] -> [o] }``."""
    unwrapped = pairs.unwrap()
    projection = Map.universe(unwrapped).domain_map().as_pw_multi_aff()
    return offset.pullback_pw_multi_aff(projection)


def scratch_for(scratches: Sequence[Scratch], array: str, place: Place) -> Scratch | None:
    """The innermost scratch of an array around a leaf, or ``None`` for the array itself."""
    around = {loop.name: depth for depth, loop in enumerate(place.loops, 1)}
    around[""] = 0
    fitting = [s for s in scratches if s.array == array and s.at in around]
    return max(fitting, key=lambda s: around[s.at], default=None)


def cells(prefix: Map, accessed: Map, scratch: Scratch | None, array: Set) -> Map:
    """``{ C[d] -> cell }`` from ``{ C[d] -> [t] }`` (all loops) and ``{ C[d] -> A[x] }``.

    Elements outside a scratch's extents have no cell.
    """
    if scratch is None:
        return accessed
    extra = prefix.dim(dim_type.out) - scratch.depth
    prefix = prefix.project_out(dim_type.out, scratch.depth, extra)
    return prefix.range_product(accessed).apply_range(layout(scratch, array))
