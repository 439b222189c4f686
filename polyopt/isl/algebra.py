"""Operations on isl relations that isl lacks or does silently wrong."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from polyopt.errors import InternalError
from polyopt.isl.api import (
    BasicSet,
    Map,
    Set,
    Space,
    UnionMap,
    UnionSet,
    Val,
    context,
    dim_type,
    integer_val,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def tuple_name(value: Set | Map | Space, kind: dim_type = dim_type.set) -> str:
    """The name of a set's tuple (or a map's, with ``dim_type.in_`` or ``.out``); may be empty."""
    if isinstance(value, Set):
        return value.get_tuple_name() or "" if value.has_tuple_name() else ""
    return value.get_tuple_name(kind) or "" if value.has_tuple_name(kind) else ""


def params_of(space: Space) -> tuple[str, ...]:
    """The parameters' names, in their order."""
    count = space.dim(dim_type.param)
    return tuple(space.get_dim_name(dim_type.param, i) or "" for i in range(count))


def maps_of(union: UnionMap) -> list[Map]:
    """The maps of a union, ordered by their spaces' text: never by hash."""
    items = union.get_map_list()
    maps = [items.get_at(i) for i in range(items.n_map())]
    return sorted(maps, key=lambda m: str(m.get_space()))


def sets_of(union: UnionSet) -> list[Set]:
    """The sets of a union, ordered by their spaces' text: never by hash."""
    items = union.get_set_list()
    sets = [items.get_at(i) for i in range(items.n_set())]
    return sorted(sets, key=lambda s: str(s.get_space()))


def compose(first: UnionMap, second: UnionMap, *, why: str) -> UnionMap:
    """``second after first``; refuses the tuple mismatches that isl answers with ``{ }``.

    Every tuple in the range of ``first`` has to occur in the domain of ``second``.
    """
    known = {str(_anonymous(s)) for s in sets_of(second.domain())}
    for part in sets_of(first.range()):
        if str(_anonymous(part)) not in known:
            msg = f"{why}: nothing to compose {part.get_space()} with"
            raise InternalError(msg)
    return first.apply_range(second)


def _anonymous(part: Set) -> tuple[str, int]:
    return tuple_name(part), part.dim(dim_type.set)


def empty_map() -> UnionMap:
    """The relation of nothing to nothing."""
    return UnionMap.empty_ctx(context())


def empty_set() -> UnionSet:
    """The union of no sets."""
    return UnionSet.empty_ctx(context())


def union_all(maps: Iterable[UnionMap | Map]) -> UnionMap:
    """The union of any number of maps, coalesced."""
    return union_as_is(maps).coalesce()


def union_as_is(maps: Iterable[UnionMap | Map]) -> UnionMap:
    """The union of any number of maps: where no two have a space in common, coalescing finds
    nothing to join."""
    parts = [part.to_union_map() if isinstance(part, Map) else part for part in maps]
    # in pairs: each union copies what it is given, so one after the other is quadratic
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        odd = parts[-1:] if len(parts) % 2 else []
        parts = [one.union(other) for one, other in pairs] + odd
    return parts[0] if parts else empty_map()


def irredundant(value: Set) -> Set:
    """The same set without pieces that lie in the others: ``coalesce`` compares them by pairs."""
    pieces = [Set.from_basic_set(piece) for piece in value.get_basic_sets()]
    kept = pieces
    for piece in pieces:
        others = [one for one in kept if one is not piece]
        if others and piece.is_subset(reduce(Set.union, others)):
            kept = others
    return reduce(Set.union, kept, Set.empty(value.get_space()))


def coalesced(value: Set) -> Set:
    """``coalesce``, written the same in every process.

    Where one piece has a stride ``x = 2 floor((x + 1)/2) - 1`` and another ``floor(x/2)``, what isl
    makes of the two depends on which of two copies lies first in memory (isl 0.28 takes the first
    for an inequality: ``isl_basic_map_constraint``). Pieces that differ so stay apart.
    """
    pieces = value.get_basic_sets()
    if len(pieces) < 2:
        return value.coalesce()
    # what is under an "exists" isl does not compare
    known = [piece.remove_unknown_divs() for piece in pieces]
    divisions = [_divisions(piece) for piece in known]
    strides = {one.linear for pair in zip(known, divisions, strict=True) for one in _strides(*pair)}
    groups: dict[frozenset[_Division], Set] = {}
    for piece, own in zip(pieces, divisions, strict=True):
        key = frozenset(one for one in own if one.linear in strides)
        part = Set.from_basic_set(piece)
        groups[key] = groups[key].union(part) if key in groups else part
    if not _differ_by_constants(groups):
        return value.coalesce()
    return reduce(Set.union, (group.coalesce() for group in groups.values()))


def coalesced_map(value: Map) -> Map:
    """A map as ``coalesced`` joins the pieces of a set."""
    return coalesced(value.wrap()).unwrap()


class _Division(NamedTuple):
    """``floor((linear + constant)/m)``, both as text over ``m``."""

    linear: str
    constant: str


def _divisions(piece: BasicSet) -> list[_Division]:
    """Those of a piece, by position."""
    local = piece.get_local_space()
    zero = Val.zero(context())
    found = [local.get_div(position) for position in range(local.dim(dim_type.div))]
    return [
        _Division(str(div.set_constant_val(zero)), str(div.get_constant_val())) for div in found
    ]


def _strides(piece: BasicSet, divisions: Sequence[_Division]) -> list[_Division]:
    """The divisions that an equality defines."""
    equalities = [c for c in piece.get_constraints() if c.is_equality()] if divisions else []
    return [
        division
        for position, division in enumerate(divisions)
        if any(c.involves_dims(dim_type.div, position, 1) for c in equalities)
    ]


def _differ_by_constants(groups: Iterable[frozenset[_Division]]) -> bool:
    """Whether divisions of two groups differ in the constant alone."""
    distinct = frozenset[_Division]().union(*groups)
    return len({one.linear for one in distinct}) < len(distinct)


def same_set(one: Set | UnionSet, other: Set | UnionSet) -> bool:
    """Whether two sets have the same elements for all parameter values."""
    return _as_union_set(one).is_equal(_as_union_set(other))


def same_map(one: Map | UnionMap, other: Map | UnionMap) -> bool:
    """Whether two relations have the same pairs for all parameter values."""
    return _as_union_map(one).is_equal(_as_union_map(other))


def _as_union_set(value: Set | UnionSet) -> UnionSet:
    return value.to_union_set() if isinstance(value, Set) else value


def _as_union_map(value: Map | UnionMap) -> UnionMap:
    return value.to_union_map() if isinstance(value, Map) else value


def canonical_text(value: Set | Map | UnionSet | UnionMap) -> str:
    """A text that is the same for the same construction: for cache keys, not for equality."""
    if isinstance(value, (Set, Map)):
        return str(value.coalesce().remove_redundancies())
    if isinstance(value, UnionSet):
        return "; ".join(canonical_text(part) for part in sets_of(value))
    return "; ".join(canonical_text(part) for part in maps_of(value))


def sample(value: Set) -> dict[str, list[int]] | None:
    """One element of a set, small where possible: ``{"params": [...], "set": [...]}``.

    ``None`` when the set is empty. Parameters are chosen too, the smallest first.
    """
    if value.is_empty():
        return None
    count = value.dim(dim_type.param)
    flat = value.move_dims(dim_type.set, 0, dim_type.param, 0, count)
    chosen: list[int] = []
    for position in range(flat.dim(dim_type.set)):
        number = _smallest(flat, position)
        flat = flat.fix_val(dim_type.set, position, number)
        chosen.append(number.to_python())
    return {"params": chosen[:count], "set": chosen[count:]}


def _smallest(value: Set, position: int) -> Val:
    """The smallest non-negative number that a dimension can take, else the one next to zero."""
    zero = integer_val(0)
    usual = value.lower_bound_val(dim_type.set, position, zero)
    if not usual.is_empty():
        return _line(usual, position).dim_min_val(0)
    return _line(value, position).dim_max_val(0)


def _line(value: Set, position: int) -> Set:
    """``{ [x] }``: what one dimension can be."""
    after = value.dim(dim_type.set) - position - 1
    line = value.project_out(dim_type.set, position + 1, after)
    return line.project_out(dim_type.set, 0, position).project_out_all_params()


def instance_of(value: Set) -> tuple[str, tuple[int, ...], dict[str, int]] | None:
    """A sampled element as ``(tuple name, coordinates, parameter values)``."""
    found = sample(value)
    if found is None:
        return None
    names = params_of(value.get_space())
    return tuple_name(value), tuple(found["set"]), dict(zip(names, found["params"], strict=True))


def param_bounds(context: Set, name: str) -> tuple[int | None, int | None]:
    """The least and the largest value of a parameter in ``[N] -> { : ... }``, where there is one;
    none of a parameter that the set does not name."""
    position = context.find_dim_by_name(dim_type.param, name)
    if position < 0:
        return None, None
    line = context.from_params().move_dims(dim_type.set, 0, dim_type.param, position, 1)
    line = line.project_out(dim_type.param, 0, line.dim(dim_type.param))
    least, most = line.dim_min_val(0), line.dim_max_val(0)
    return (
        least.to_python() if least.is_int() else None,
        most.to_python() if most.is_int() else None,
    )


def largest_params(context: Set, least: int = 0) -> Set:
    """``[n, m] -> { : n <= 2147483647 and m <= 65535 }``: the largest number of each parameter that
    has one of ``least`` or more. Such bounds come from the types of sizes; isl takes them for those
    of loops."""
    result = Set.universe(context.get_space())
    for name in params_of(context.get_space()):
        _, most = param_bounds(context, name)
        if most is not None and most >= least:
            position = result.find_dim_by_name(dim_type.param, name)
            result = result.upper_bound_val(dim_type.param, position, integer_val(most))
    return result


def fix_param_values(value: Set, params: Mapping[str, int]) -> Set:
    """The set for given parameter values; parameters it does not have are passed over."""
    for name, number in params.items():
        position = value.find_dim_by_name(dim_type.param, name)
        if position >= 0:
            value = value.fix_val(dim_type.param, position, integer_val(number))
    return value
