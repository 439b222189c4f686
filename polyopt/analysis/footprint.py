"""What a tile touches: data per tile, the part it needs from outside, and boxes around them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from polyopt.ir.type_bounds import without_type_bounds
from polyopt.isl import (
    Aff,
    Map,
    PwAff,
    UnionMap,
    Val,
    affine_constant,
    affine_var,
    coalesced_map,
    compose,
    constant_value,
    dim_type,
    integer_val,
    maps_of,
    tuple_name,
    union_all,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from polyopt.analysis.dependences import Dependences
    from polyopt.isl import Constraint, Set, Space


def footprint(tile_to_instances: UnionMap, accesses: UnionMap) -> UnionMap:
    """``{ [t] -> A[x] }``: the elements that a tile's instances access.

    ``accesses`` is ``{ S[i] -> A[x] }``; tuples of instances without accesses count for nothing.
    """
    known = accesses.domain()
    instances = tile_to_instances.intersect_range(known)
    if instances.is_empty():
        return union_all(())
    return compose(instances, accesses, why="footprint of a tile").coalesce()


def outside_producers(tile_to_instances: UnionMap, deps: Dependences) -> UnionMap:
    """``{ [t] -> P[j] }``: instances of statements outside the tile whose values it reads."""
    inside = {tuple_name(part, dim_type.out) for part in maps_of(tile_to_instances)}
    incoming = union_all(
        part.reverse()
        for part in maps_of(deps.flow)
        if tuple_name(part, dim_type.in_) not in inside and tuple_name(part, dim_type.out) in inside
    )
    return tile_to_instances.apply_range(incoming).coalesce()


def upwards_exposed(tile_to_instances: UnionMap, deps: Dependences) -> UnionMap:
    """``{ [t] -> A[x] }``: what a tile reads of values that statements outside it compute.

    Neither live-in data nor what the tile's own statements produce is part of it.
    """
    producers = outside_producers(tile_to_instances, deps)
    if producers.is_empty():
        return producers
    return compose(producers, deps.scop.writes, why="upwards exposed data").coalesce()


#: elements of a dimension up to which it may be as long as the sizes can be; a longer one has the
#: length that they give it: about what a stack's buffer holds
MOST_BY_SIZES = 4096


@dataclass(frozen=True, eq=False)
class Box:
    """A box of elements that moves with the tile.

    Per dimension the elements are ``offset(t) + stride * k`` for ``0 <= k < extent``.
    """

    #: { [t] -> [offset] }
    offsets: tuple[PwAff, ...]
    #: a number where there is one, else [N] -> { [extent] }
    extents: tuple[int | PwAff, ...]
    strides: tuple[int, ...]

    @property
    def constant_extents(self) -> tuple[int, ...] | None:
        """The extents where all are numbers, else ``None``."""
        numbers = tuple(e for e in self.extents if isinstance(e, int))
        return numbers if len(numbers) == len(self.extents) else None


def bounding_box(touched: Map, sizes: Set) -> Box | None:
    """The smallest box around ``{ [t] -> A[x] }`` for sizes ``[N] -> { : ... }``.

    Per dimension: the offset is a lower bound of the simple hull, affine in t (with floors), that
    gives the smallest constant extent; else one whose extent depends on the sizes alone; else
    the exact least element. ``None`` where even that leaves a dimension unbounded.
    """
    rank = touched.dim(dim_type.out)
    inside = coalesced_map(without_type_bounds(touched, sizes))
    sides = [_side(_line(inside, position)) for position in range(rank)]
    known = [side for side in sides if side is not None]
    if len(known) != rank:
        return None
    return Box(
        tuple(side.offset for side in known),
        tuple(side.extent for side in known),
        tuple(side.stride for side in known),
    )


def box_map(space: Space, box: Box) -> Map:
    """``{ [t] -> A[x] : offset(t) <= x < offset(t) + extent }`` of a box without strides."""
    to_times = Map.universe(space).domain_map().as_pw_multi_aff()
    pairs = Map.universe(space).wrap()
    first = space.dim(dim_type.in_)
    for position, (offset, extent) in enumerate(zip(box.offsets, box.extents, strict=True)):
        index = affine_var(pairs.get_space(), first + position)
        low = offset.pullback_pw_multi_aff(to_times)
        size = (
            affine_constant(pairs.get_space(), extent)
            if isinstance(extent, int)
            else extent.insert_domain(pairs.get_space())
        )
        pairs = pairs.intersect(index.ge_set(low)).intersect(index.lt_set(low.add(size)))
    return pairs.unwrap()


@dataclass(frozen=True, eq=False)
class _Side:
    #: { [t] -> [offset] }
    offset: PwAff
    extent: int | PwAff
    stride: int = 1


def _line(touched: Map, position: int) -> Map:
    """``{ [t] -> [x_position] }``."""
    after = touched.dim(dim_type.out) - position - 1
    line = touched.project_out(dim_type.out, position + 1, after)
    return coalesced_map(line.project_out(dim_type.out, 0, position))


def _side(line: Map) -> _Side | None:
    if line.is_empty():
        return _Side(affine_constant(line.get_space().domain(), 0), 1)
    if not _finite(line):
        return None
    info = line.get_range_stride_info(0)
    stride, phase = info.get_stride().to_python(), PwAff.from_aff(info.get_offset())
    if stride <= 1:
        return _dense_side(line)
    found = _dense_side(_divided(line, stride, phase))
    if found is None:
        return None
    factor = integer_val(stride)
    return _Side(found.offset.scale_val(factor).add(phase).coalesce(), found.extent, stride)


def _divided(line: Map, stride: int, phase: PwAff) -> Map:
    """``{ [t] -> [q] }`` with ``x = stride * q + phase(t)``."""
    shifted = line.sum(phase.neg().as_map())
    space = shifted.get_space().range()
    multiple = Aff.var_on_domain(space.to_local_space(), dim_type.set, 0).scale_val(
        integer_val(stride)
    )
    return shifted.apply_range(PwAff.from_aff(multiple).as_map().reverse()).coalesce()


def _dense_side(line: Map) -> _Side | None:
    flat = line.wrap().flatten()
    bounds = [(low, _distance(flat, low)) for low in _lower_bounds(flat)]
    constant = _smallest((flat.max_val(distance), low) for low, distance in bounds)
    if constant is not None and constant[0] > MOST_BY_SIZES:
        # what no size can exceed is no extent: the largest of 32 bits would be one of gigabytes
        free = flat.gist_params(flat.params())
        constant = _smallest((free.max_val(distance), low) for low, distance in bounds)
    if constant is not None:
        return _Side(_without_last(constant[1], line), constant[0])
    for low, _ in bounds:
        extent = _extent(line, _without_last(low, line))
        if extent is not None:
            return _Side(_without_last(low, line), extent)
    return _exact_side(line)


def _exact_side(line: Map) -> _Side | None:
    """The least element as the offset: piecewise, and defined where the tile touches any."""
    offset = _explicit(line.lexmin_pw_multi_aff().get_at(0))
    extent = _extent(line, offset)
    return None if extent is None else _Side(offset, extent)


def _explicit(offset: PwAff) -> PwAff:
    """The offset with its places as integer divisions that isl knows, not as ``exists``.

    ``lexmin`` leaves "some element is touched" as an ``exists``. isl cannot tell whether two of
    them are one: each set that is made from the offset would carry its own copies.
    """
    parts = [
        PwAff.alloc(where.compute_divs().coalesce(), value) for where, value in offset.get_pieces()
    ]
    return reduce(PwAff.union_add, parts).coalesce() if parts else offset


def _finite(line: Map) -> bool:
    """Whether each single tile touches finitely many elements."""
    count, first = line.dim(dim_type.in_), line.dim(dim_type.param)
    return line.move_dims(dim_type.param, first, dim_type.in_, 0, count).range().is_bounded()


def _smallest(found: Iterable[tuple[Val, Aff]]) -> tuple[int, Aff] | None:
    """The smallest extent with its bound; the first of equals."""
    best: tuple[int, Aff] | None = None
    for top, low in found:
        if top.is_int() and (best is None or top.to_python() + 1 < best[0]):
            best = top.to_python() + 1, low
    return best


def _lower_bounds(flat: Set) -> Iterator[Aff]:
    """Each ``f(t)`` with ``x >= f(t)`` on the hull of ``{ [t, x] }``, those that move with t
    first, and not in isl's order, which is not the same in every process.
    """
    last = flat.dim(dim_type.set) - 1
    found = [
        constraint.get_bound(dim_type.set, last).ceil()
        for constraint in flat.compute_divs().simple_hull().remove_unknown_divs().get_constraints()
        if _bounds_from_below(constraint, last)
    ]
    return iter(
        sorted(found, key=lambda low: (not low.involves_dims(dim_type.in_, 0, last), str(low)))
    )


def _bounds_from_below(constraint: Constraint, last: int) -> bool:
    """Whether the constraint bounds x, and no division in it involves x."""
    if not constraint.involves_dims(dim_type.set, last, 1):
        return False
    if not (constraint.is_equality() or constraint.is_lower_bound(dim_type.set, last)):
        return False
    aff = constraint.get_aff()
    return all(
        aff.get_coefficient_val(dim_type.div, position).is_zero()
        or not aff.get_div(position).involves_dims(dim_type.in_, last, 1)
        for position in range(aff.dim(dim_type.div))
    )


def _distance(flat: Set, low: Aff) -> Aff:
    """``{ [t, x] -> [x - f(t)] }``."""
    space = flat.get_space().to_local_space()
    return Aff.var_on_domain(space, dim_type.set, flat.dim(dim_type.set) - 1).sub(low)


def _without_last(low: Aff, line: Map) -> PwAff:
    """``{ [t, x] -> [f(t)] }`` as ``{ [t] -> [f(t)] }`` over the tile's own space."""
    trimmed = PwAff.from_aff(low.drop_dims(dim_type.in_, low.dim(dim_type.in_) - 1, 1))
    space = line.get_space().domain()
    name = tuple_name(space)
    trimmed = trimmed.align_params(space)
    return trimmed.set_tuple_id(dim_type.in_, space.get_tuple_id(dim_type.set)) if name else trimmed


def _extent(line: Map, offset: PwAff) -> int | PwAff | None:
    """The greatest ``x - offset(t)``, plus one, over all t: in the sizes alone."""
    # an exact maximum would depend on remainders of the sizes, and may take for ever to find;
    # unknown divisions go first: the range of dozens of them takes for ever too
    known = line.remove_unknown_divs()
    distance = known.sum(offset.neg().as_map()).range().remove_divs().coalesce()
    if not distance.is_bounded():
        return None
    top = distance.dim_max(0)
    whole = top.add(affine_constant(top.get_space().domain(), 1)).coalesce()
    whole = whole.gist(whole.domain())
    return constant_value(whole) or whole
