"""Storage, where values live: scratch buffers, their layout, and the cells that copies access.

rewrite: ``bx[y][x]`` becomes ``scratch[y - y0][x - x0]``, or ``scratch[y % 3][x]`` when folded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from polyopt.analysis.footprint import bounding_box
from polyopt.errors import IllegalScheduleError, NotFusableError
from polyopt.isl import (
    Map,
    PwAff,
    Set,
    Space,
    affine_constant,
    affine_var,
    coalesced_map,
    dim_type,
    instance_space,
    integer_val,
)
from polyopt.memo import memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.ir.scop import Scop
    from polyopt.transform.schedule.tree import SchedulePosition

_Part = TypeVar("_Part")


@dataclass(frozen=True)
class StorageDirective:
    """Directive: keep ``array`` in a buffer private to each iteration of loop ``at``.

    Extents and offsets follow from what the copies inside touch; ``folds`` (a modulus per
    dimension, 0 for none) and ``extents`` (a number per dimension, 0 for the derived one) say
    otherwise, and the proof has the last word on them.
    """

    name: str
    array: str
    #: name of the loop; "" is the whole program
    at: str
    folds: tuple[int, ...] = ()
    extents: tuple[int, ...] = ()
    #: only copies inside this loop use it: a window moves along one nest; "" for all inside ``at``
    within: str = ""
    #: only these references read it; empty for all
    refs: tuple[str, ...] = ()
    #: the array's dimensions in the order in which the buffer has them; empty for the same
    order: tuple[int, ...] = ()
    #: operations above the load whose result the buffer holds in place of the element
    above: int = 0


@dataclass(frozen=True, eq=False)
class Scratch:
    """A buffer as it is: index ``(x - offset(t)) / stride``, or ``x mod fold``, per dimension."""

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
    #: distance of the elements held, per dimension; empty means 1
    strides: tuple[int, ...] = ()
    #: the array's dimensions in the order in which C has them; empty for the same
    order: tuple[int, ...] = ()
    #: operations above a load that were done when the buffer was filled
    above: int = 0

    def ordered(self, parts: Sequence[_Part]) -> tuple[_Part, ...]:
        """Something per dimension of the array, in the order of the buffer's dimensions."""
        return tuple(parts[d] for d in self.order) if self.order else tuple(parts)

    def stride(self, dimension: int) -> int:
        """The distance between neighbouring elements held along a dimension."""
        return self.strides[dimension] if self.strides else 1

    def fold(self, dimension: int) -> int:
        """The modulus of a dimension; 0 where it is not folded."""
        return self.folds[dimension] if self.folds else 0

    @property
    def is_folded(self) -> bool:
        """Whether any dimension wraps around."""
        return any(self.folds)


def layout(scratch: Scratch, array: Set, *, flat: bool = False) -> Map:
    """``{ [[t] -> A[x]] -> scratch[t, index] : 0 <= index < extent }`` for an array's elements.

    The loop values are part of the cell: each iteration of ``at`` has a buffer of its own. A
    ``flat`` layout never wraps around: folded dimensions have as much room as they need.
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
        if scratch.fold(position) and flat:
            result = result.flat_range_product(Map.from_pw_aff(index))
            continue
        if scratch.fold(position):
            index = index.mod_val(integer_val(scratch.fold(position)))
        else:
            index = index.sub(_of_times(scratch.offsets[position], pairs))
            index = quotient(index, scratch.stride(position))
        inside = index.nonneg_set().intersect(
            index.lt_set(scratch.extents[position].insert_domain(pairs))
        )
        result = result.flat_range_product(Map.from_pw_aff(index)).intersect_domain(inside)
    return result.set_tuple_name(dim_type.out, scratch.name)


def quotient(value: PwAff, stride: int) -> PwAff:
    """``floor(value / stride)``."""
    if stride == 1:
        return value
    return value.scale_down_val(integer_val(stride)).floor()


def _of_times(offset: PwAff, pairs: Space) -> PwAff:
    """``{ [t] -> [o] }`` as ``{ [[t] -> A[x]] -> [o] }``."""
    unwrapped = pairs.unwrap()
    projection = Map.universe(unwrapped).domain_map().as_pw_multi_aff()
    return offset.pullback_pw_multi_aff(projection)


def store_for(
    stores: Sequence[StorageDirective],
    array: str,
    place: SchedulePosition,
    skip: str = "",
    ref: str = "",
) -> StorageDirective | None:
    """The innermost store of an array around a leaf, or ``None`` for the array itself.

    ``skip`` names a store to look past: a pack reads from outside the buffer that it fills.
    ``ref`` is the reference that reads: some buffers are for a few of them.
    """
    mine = [
        s for s in stores
        if s.array == array and s.name != skip and (not s.refs or ref in s.refs)
    ]  # fmt: skip
    if not mine:
        return None
    around = {loop.name: depth for depth, loop in enumerate(place.loops, 1)}
    around[""] = 0
    fitting = [s for s in mine if s.at in around and s.within in around]
    return max(fitting, key=lambda s: around[s.at], default=None)


def check_inside(prefix: Map, depth: int) -> None:
    """Raise where accesses ``{ R -> [t_1, ...] }`` are not inside the loop of their buffer."""
    if prefix.dim(dim_type.out) < depth:
        message = "a buffer is used outside of the loop that it belongs to"
        raise IllegalScheduleError(message, hint="store() keeps a buffer where all its users are")


def project_tail(prefix: Map, depth: int) -> Map:
    """``{ R -> [t_1, ..., t_depth] }`` of ``{ R -> [t_1, ...] }``."""
    check_inside(prefix, depth)
    return prefix.project_out(dim_type.out, depth, prefix.dim(dim_type.out) - depth)


def fit(store: StorageDirective, depth: int, parts: list[Map], scop: Scop, array: Set) -> Scratch:
    """The buffer that holds a store's footprint, given as pieces ``{ [t] -> A[x] }``."""
    space = instance_space(scop.params, "", [f"t{i}" for i in range(depth)])
    footprint = Map.empty(space.map_from_domain_and_range(array.get_space()))
    for part in parts:
        footprint = footprint.union(part)
    box = bounding_box(coalesced_map(footprint), scop.context)
    if box is None:
        message = f"{store.array} has no bounded footprint in an iteration of {store.at or 'all'}"
        raise NotFusableError(message, hint="store it in full instead")
    params = array.get_space().params()
    extents = [affine_constant(params, e) if isinstance(e, int) else e for e in box.extents]
    for dimension, chosen in enumerate(_chosen(store, len(extents))):
        if chosen:
            extents[dimension] = affine_constant(params, chosen)
    return Scratch(
        store.name,
        store.array,
        store.at,
        depth,
        box.offsets,
        tuple(extents),
        store.folds,
        () if any(store.folds) else box.strides,
        store.order,
        store.above,
    )


def _chosen(store: StorageDirective, rank: int) -> list[int]:
    """The extents that the directive itself fixes, 0 where it does not."""
    folds = store.folds or (0,) * rank
    extents = store.extents or (0,) * rank
    return [fold or extent for fold, extent in zip(folds, extents, strict=True)]


def cells(
    prefix: Map, accessed: Map, scratch: Scratch | None, array: Set, *, flat: bool = False
) -> Map:
    """``{ C[d] -> cell }`` from ``{ C[d] -> [t] }`` (all loops) and ``{ C[d] -> A[x] }``.

    Elements outside a scratch's extents have no cell. ``flat``: see ``layout``.
    """
    if scratch is None:
        return accessed
    known = memory(scratch, "layouts")  # a buffer is of one array
    if flat not in known:
        known[flat] = layout(scratch, array, flat=flat)
    prefix = project_tail(prefix, scratch.depth)
    return prefix.range_product(accessed).apply_range(known[flat])
