"""The box of a footprint: an offset affine in the loops around, and an extent that is constant
where one exists (method of FixedBox in isl; here from the lower bounds of the simple hull)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.isl import Aff, PwAff, Set, Val, affine_constant, context, dim_type

if TYPE_CHECKING:
    from polyopt.isl import Map


@dataclass(frozen=True, eq=False)
class Box:
    """``{ [t] -> A[x] : offset(t) <= x < offset(t) + extent }``."""

    #: { [t] -> [offset] } per dimension
    offsets: tuple[PwAff, ...]
    #: [N] -> { [extent] } per dimension
    extents: tuple[PwAff, ...]

    def constant(self, dimension: int) -> int | None:
        """The extent of a dimension as a number, where it is one."""
        from polyopt.isl import constant_value

        return constant_value(self.extents[dimension])


def bounding_box(footprint: Map, context_set: Set) -> Box | None:
    """The smallest box of ``{ [t] -> A[x] }``; ``None`` where a dimension has no bounds."""
    rank = footprint.dim(dim_type.out)
    found = [_side(_project(footprint, d), context_set) for d in range(rank)]
    sides = [side for side in found if side is not None]
    if len(sides) != rank:
        return None
    return Box(tuple(s[0] for s in sides), tuple(s[1] for s in sides))


def _project(footprint: Map, dimension: int) -> Map:
    """``{ [t] -> [x_dimension] }``."""
    rank = footprint.dim(dim_type.out)
    line = footprint.project_out(dim_type.out, dimension + 1, rank - dimension - 1)
    return line.project_out(dim_type.out, 0, dimension)


def _side(line: Map, context_set: Set) -> tuple[PwAff, PwAff] | None:
    line = line.intersect_params(context_set).coalesce()
    if line.is_empty():
        zero = affine_constant(line.get_space().domain(), 0)
        return zero, _number(line, 1)
    flat = line.wrap().flatten()
    best: tuple[int, PwAff] | None = None
    parametric: tuple[PwAff, PwAff] | None = None
    for low in _lower_bounds(flat):
        distance = _distance(flat, low)
        top = flat.max_val(distance)
        offset = _without_last(low, line)
        if top.is_int():
            extent = top.to_python() + 1
            if best is None or extent < best[0]:
                best = (extent, offset)
        elif parametric is None:
            extent = _parametric_extent(flat, distance)
            parametric = (offset, extent) if extent is not None else None
    if best is not None:
        return best[1], _number(line, best[0])
    return parametric


def _lower_bounds(flat: Set) -> list[Aff]:
    """Affine ``f`` with ``x >= f(t)`` for every ``[t, x]``, x being the last dimension."""
    last = flat.dim(dim_type.set) - 1
    hull = flat.simple_hull()
    result: list[Aff] = []
    for constraint in hull.get_constraints():
        if constraint.is_equality() and constraint.involves_dims(dim_type.set, last, 1):
            if not _divides(constraint, last):
                continue
            result.append(constraint.get_bound(dim_type.set, last).ceil())
        elif constraint.is_lower_bound(dim_type.set, last) and _divides(constraint, last):
            result.append(constraint.get_bound(dim_type.set, last).ceil())
    # bounds that follow the loops before those that are constant in them
    return sorted(result, key=lambda a: not a.involves_dims(dim_type.in_, 0, max(last, 0)))


def _divides(constraint: object, last: int) -> bool:
    """Whether no integer division of the constraint involves x itself."""
    local = constraint.get_local_space()  # type: ignore[attr-defined]
    for position in range(local.dim(dim_type.div)):
        uses = constraint.involves_dims(dim_type.div, position, 1)  # type: ignore[attr-defined]
        if uses and local.get_div(position).involves_dims(dim_type.in_, last, 1):
            return False
    return True


def _distance(flat: Set, low: Aff) -> Aff:
    """``{ [t, x] -> [x - f(t)] }``."""
    space = flat.get_space().to_local_space()
    return Aff.var_on_domain(space, dim_type.set, flat.dim(dim_type.set) - 1).sub(low)


def _parametric_extent(flat: Set, distance: Aff) -> PwAff | None:
    values = flat.apply(PwAff.from_aff(distance).as_map())
    if not values.dim_has_upper_bound(dim_type.set, 0):
        return None
    top = values.dim_max(0)
    one = PwAff.from_aff(Aff.val_on_domain_space(
        top.get_space().domain(), Val.int_from_si(context(), 1)
    ))  # fmt: skip
    return top.add(one).coalesce()


def _without_last(low: Aff, line: Map) -> PwAff:
    """``{ [t, x] -> [f(t)] }`` as ``{ [t] -> [f(t)] }``."""
    trimmed = low.drop_dims(dim_type.in_, low.dim(dim_type.in_) - 1, 1)
    space = line.get_space().domain()
    return PwAff.from_aff(trimmed).align_params(space)


def _number(line: Map, value: int) -> PwAff:
    return affine_constant(line.get_space().params(), value)
