"""One access of a transformed program, and what is computed in place of a load.

Plans are values, and every move makes a new program of mostly the same copies. What depends on a
copy alone is therefore remembered with the copy, not with the program.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.errors import NotFusableError
from polyopt.isl import Set, coalesced, coalesced_map, dim_type, maps_of, tuple_name, union_as_is
from polyopt.memo import Same, memo, memory
from polyopt.transform.schedule.storage import cells
from polyopt.transform.schedule.tree import ScheduledStatement, prefix_map

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.ir.scop import Access, Scop, Statement
    from polyopt.isl import Map, UnionMap
    from polyopt.transform.schedule.storage import Scratch
    from polyopt.transform.schedule.tree import SchedulePosition


@dataclass(frozen=True, eq=False)
class ScheduledAccess:
    """One access of the transformed program: a set of events with their time and cell.

    ``R[d, x]`` is the event that instance ``C[d]`` accesses element ``A[x]``.
    """

    #: the copy in the tree that does it, itself or through an inlined operand
    host: str
    access: Access
    #: { R[d, x] -> [S[i] -> ref[x]] } : the event of the source program it stands for
    to_source: Map
    #: { R[d, x] -> A[x] }
    element: Map
    #: { R[d, x] -> H[d] } : the instance in the tree that does it
    at_host: Map
    #: how deep inside inlined operands it is: these run before their host
    level: int
    #: { R[d, x] -> [t] } : the values of the loops around the host
    prefix: Map
    #: the copy that does it: the host, or an operand that is computed in it
    copy: str
    scratch: Scratch | None = None
    #: { A[x] } of the array; of an access on the plan's storage
    elements: Set = field(default=None)  # type: ignore[assignment]

    @cached_property
    def cells(self) -> Map:
        """``{ R[d, x] -> cell }``; an element that its scratch has no room for is missing here."""
        return cells(self.prefix, self.element, self.scratch, self.elements)

    @cached_property
    def accessed(self) -> Map:
        """``{ H[d] -> A[x] }``: the elements by the instance in the tree that accesses them."""
        return self.at_host.reverse().apply_range(self.element)

    @property
    def to_host(self) -> Map:
        """``{ R[d, x] -> H[d] }`` for all ``d`` and ``x``, whether the access happens or not."""
        space = self.at_host.get_space()
        host = Set.universe(space.range())
        return _dims(Set.universe(space.domain()), 0, host)


#: a load from storage: by which copy, how deep inside inlined operands, of what
Load = tuple[ScheduledStatement, int, "Access"]


def known_prefix(copy: ScheduledStatement, place: SchedulePosition) -> Map:
    """``{ C[d] -> [t] }``: the values of all loops around a copy."""
    values = tuple(loop.values[copy.name] for loop in place.loops)
    known, key = memory(copy, "prefixes"), tuple(map(Same, values))
    if key not in known:
        known[key] = prefix_map(copy, place.loops)
    return known[key]


def touch_of(
    scop: Scop,
    copy: ScheduledStatement,
    host: ScheduledStatement,
    place: SchedulePosition,
    level: int,
    access: Access,
) -> ScheduledAccess:
    """The accesses of a copy, itself in the tree (``host``) or an operand of what is."""
    prefix = known_prefix(host, place)
    known, key = memory(copy, "touches"), (access.ref, Same(prefix), level)
    if key not in known:
        known[key] = _touch(scop, copy, host, prefix, level, access)
    return known[key]


@memo
def reads_as_one(statement: Statement, array: str) -> Access:
    """All that a statement reads of an array, as one access: a stencil's box, in few pieces."""
    first, *others = (a for a in statement.reads if a.array == array)
    relation = first.relation
    for other in others:
        relation = relation.union(other.relation)
    ref = f"{array} as one" if others else first.ref
    return replace(first, relation=coalesced_map(relation), ref=ref)


def _touch(
    scop: Scop,
    copy: ScheduledStatement,
    host: ScheduledStatement,
    prefix: Map,
    level: int,
    access: Access,
) -> ScheduledAccess:
    accessed = access.relation.preimage_domain_pw_multi_aff(copy.to_instance)
    accessed = accessed.intersect_domain(copy.domain)
    events = accessed.wrap().flatten().set_tuple_name(f"{copy.name}:{access.ref}")
    whose = _dims(events, 0, copy.domain)
    element = _dims(events, copy.domain.dim(dim_type.set), scop.elements[access.array])
    at_host = _dims(events, 0, host.domain)
    source = whose.apply_range(copy.to_instance.as_map())
    to_source = source.range_product(element.set_tuple_name(dim_type.out, access.ref))
    prefixes = at_host.apply_range(prefix)
    return ScheduledAccess(
        host.name, access, to_source, element, at_host, level, prefixes, copy.name
    )


def together(
    scop: Scop, host: ScheduledStatement, prefix: Map, touches: Sequence[ScheduledAccess]
) -> tuple[ScheduledAccess, UnionMap]:
    """The accesses of one copy to one array as one, and ``{ R[d, x] -> R_ref[d, x] }``.

    An instance that reads an element through several references reads it once: its time and cell
    are the same. Neighbouring elements of a stencil become one convex piece.
    """
    name = f"{touches[0].copy}:{touches[0].access.array}"
    if touches[0].scratch is not None:  # other reads of the array may go elsewhere
        name += f"@{touches[0].scratch.name}"
    each = [touch.element.domain().coalesce() for touch in touches]
    parts = [events.set_tuple_name(name) for events in each]
    events = parts[0]
    for part in parts[1:]:
        events = events.union(part)
    events = coalesced(events)
    split = union_as_is(
        part.identity().set_tuple_id(dim_type.out, own.get_tuple_id())
        for part, own in zip(parts, each, strict=True)
    )
    elements = scop.elements[touches[0].access.array]
    first = events.dim(dim_type.set) - elements.dim(dim_type.set)
    at_host = _dims(events, 0, host.domain)
    element = _dims(events, first, elements)
    one = replace(touches[0], element=element, at_host=at_host, prefix=at_host.apply_range(prefix))
    return one, split


@memo
def instances_of(operand: ScheduledStatement, outer: int) -> str:
    """``{ H[d] -> P[j] }`` of an operand, as text; ``outer`` is the rank of ``H``."""
    last = operand.domain.dim(dim_type.set) - operand.outer
    pairs = operand.domain.project_out(dim_type.set, outer, operand.outer - outer)
    return f"{last} {pairs.set_tuple_name('').coalesce()}"


def operand_of(
    scop: Scop, flow: UnionMap, copy: ScheduledStatement, access: Access
) -> ScheduledStatement:
    """The producer instances ``{ P'[C's dims, j] }`` that an inlined load evaluates.

    Raises ``NotFusableError`` where that is not one statement's value, or depends on data.
    """
    known, key = memory(copy, "operands"), (Same(flow), access.ref)
    if key not in known:
        known[key] = _operand(scop, flow, copy, access)
    return known[key]


@memo
def _sources(_scop: Scop, flow: UnionMap) -> Mapping[str, list[Map]]:
    """``{ P[j] -> [S[i] -> ref[x]] }`` by the name of the reference."""
    found: dict[str, list[Map]] = {}
    for part in maps_of(flow):
        found.setdefault(tuple_name(part.range().unwrap(), dim_type.out), []).append(part)
    return found


def _operand(
    scop: Scop, flow: UnionMap, copy: ScheduledStatement, access: Access
) -> ScheduledStatement:
    """The producer instances ``{ P'[C's dims, j] }`` that an inlined load evaluates."""
    if not access.exact:
        message = f"{access.array} cannot be inlined: this read finds its element in data"
        hint = "fuse it instead: a buffer then holds every element that may be read"
        raise NotFusableError(message, span=access.span, hint=hint)
    sources = _sources(scop, flow).get(access.ref, [])
    if len(sources) != 1:
        found = ", ".join(tuple_name(m, dim_type.in_) for m in sources) or "nothing"
        message = f"{access.array} cannot be inlined: this read gets values of {found}"
        hint = "only an array written by one statement can be inlined"
        raise NotFusableError(message, span=access.span, hint=hint)
    producer = scop.statement(tuple_name(sources[0], dim_type.in_))
    to_producer = sources[0].reverse().domain_factor_domain()  # { S[i] -> P[j] }
    to_producer = to_producer.preimage_domain_pw_multi_aff(copy.to_instance)
    pairs = to_producer.intersect_domain(copy.domain).wrap().flatten().coalesce()
    name = f"{copy.name}/{access.ref}"
    return ScheduledStatement(
        name, producer, pairs.set_tuple_name(name), copy.domain.dim(dim_type.set)
    )


def _dims(events: Set, first: int, onto: Set) -> Map:
    """``{ R[d, x] -> D[...] }``: consecutive dimensions of an event, in the space of ``onto``."""
    total, count = events.dim(dim_type.set), onto.dim(dim_type.set)
    result = events.identity()
    result = result.project_out(dim_type.out, first + count, total - first - count)
    result = result.project_out(dim_type.out, 0, first)
    if onto.has_tuple_id():
        result = result.set_tuple_id(dim_type.out, onto.get_tuple_id())
    return result
