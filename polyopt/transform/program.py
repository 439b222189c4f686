"""The transformed program as relations: what the plan runs, when, and on which storage.

Both the proof and the code come from these: copies, their time, and the cells they touch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.errors import NotFusableError
from polyopt.isl import Map, Set, dim_type, maps_of, tuple_name
from polyopt.transform.storage import (
    Scratch,
    Store,
    cells,
    fit,
    project_tail,
    store_depth,
    store_for,
)
from polyopt.transform.tree import Copy, Place, places, prefix_map, time_map

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from polyopt.ir.scop import Access, Scop
    from polyopt.isl import UnionMap
    from polyopt.transform.tree import Tree


@dataclass(frozen=True, eq=False)
class Touch:
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
    scratch: Scratch | None = None
    #: { R[d, x] -> cell }; an element that its scratch has no room for is missing here
    cells: Map = field(default=None)  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class Program:
    """Copies in a tree, with storage; the input of proof and code generation."""

    scop: Scop
    copies: Mapping[str, Copy]
    tree: Tree
    stores: tuple[Store, ...] = ()
    #: arrays whose elements are computed where they are read, and never stored
    inlined: frozenset[str] = frozenset()
    #: { P[j] -> [S[i] -> ref[x]] } : the source's flow, which says what to compute there
    flow: UnionMap | None = None
    operands: dict[tuple[str, str], Copy] = field(default_factory=dict[tuple[str, str], Copy])
    instances: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])

    @cached_property
    def places(self) -> Mapping[str, Place]:
        """Where each copy stands in the tree."""
        return {place.copy: place for place in places(self.tree)}

    @cached_property
    def depth(self) -> int:
        """Loops around the most deeply nested copy."""
        return max((len(p.loops) for p in self.places.values()), default=0)

    @cached_property
    def elements(self) -> Mapping[str, Set]:
        """``{ A[x] }`` per array."""
        return {a.name: a.elements(self.scop.params) for a in self.scop.arrays}

    @cached_property
    def prefixes(self) -> Mapping[str, Map]:
        """``{ C[d] -> [t] }`` per copy in the tree: the values of all loops around it."""
        return {
            name: prefix_map(self.copies[name], place.loops) for name, place in self.places.items()
        }

    def time(self, touch: Touch) -> Map:
        """``{ R[d, x] -> time }`` of an access."""
        copy, place = self.copies[touch.host], self.places[touch.host]
        return touch.at_host.apply_range(time_map(copy, place, self.depth, -touch.level))

    @cached_property
    def loads(self) -> tuple[tuple[str, Access], ...]:
        """Every load from storage with the copy in the tree that does it."""
        return tuple(
            (name, access)
            for name in self.places
            for _, _, access in self._loads(self.copies[name], 0, set())
        )

    def scratch(self, copy: str, array: str, *, reading: bool = True) -> Scratch | None:
        """Which scratch a copy's accesses to an array go to; ``None`` for the array itself."""
        store = self.store(copy, array, reading=reading)
        return None if store is None else self.scratches[self.stores.index(store)]

    def store(self, copy: str, array: str, *, reading: bool = True) -> Store | None:
        """The wish that a copy's accesses to an array fall under."""
        skip = self.copies[copy].fills if reading else ""
        return store_for(self.stores, array, self.places[copy], skip)

    def operand(self, copy: Copy, access: Access) -> Copy | None:
        """The copy computed in place of a load, if its array is inlined.

        Its outer dimensions are all dimensions of the copy that reads it.
        """
        if access.array not in self.inlined or self.flow is None:
            return None
        key = (copy.name, access.ref)
        if key not in self.operands:
            self.operands[key] = _operand(self.scop, self.flow, copy, access)
        return self.operands[key]

    @cached_property
    def scratches(self) -> tuple[Scratch, ...]:
        """The stores' buffers, sized by what the copies inside their loops touch."""
        return tuple(self._scratch(store) for store in self.stores)

    def _scratch(self, store: Store) -> Scratch:
        """The box of ``{ [t] -> A[x] }`` over all accesses inside the store's loop."""
        writers = [n for n in self.places if self.store(n, store.array, reading=False) is store]
        readers = [n for n in self.places if self.store(n, store.array) is store]
        touched = [
            *(t for t in self.write_events if t.host in writers and t.access.array == store.array),
            *self.reads_of(store.array, readers),
        ]
        depth = store_depth(store.at, self.places.values())
        parts = [project_tail(t.prefix, depth).reverse().apply_range(t.element) for t in touched]
        return fit(store, depth, parts, self.scop, self.elements[store.array])

    @cached_property
    def writes(self) -> tuple[Touch, ...]:
        """The writes of all copies in the tree, on the plan's storage, in textual order."""
        return tuple(self._on_storage(touch, reading=False) for touch in self.write_events)

    @cached_property
    def reads(self) -> tuple[Touch, ...]:
        """The reads of all copies on the plan's storage, inlined operands' included."""
        return tuple(self._on_storage(touch, reading=True) for touch in self.read_events)

    def _on_storage(self, touch: Touch, *, reading: bool) -> Touch:
        scratch = self.scratch(touch.host, touch.access.array, reading=reading)
        elements = self.elements[touch.access.array]
        return replace(
            touch, scratch=scratch, cells=cells(touch.prefix, touch.element, scratch, elements)
        )

    @cached_property
    def write_events(self) -> tuple[Touch, ...]:
        """The writes of all copies in the tree, in textual order, before storage is chosen."""
        return tuple(
            self._touch(self.copies[name], name, 0, self.copies[name].statement.write)
            for name in self.places
        )

    @cached_property
    def read_events(self) -> tuple[Touch, ...]:
        """The reads of all copies from storage, those of inlined operands included."""
        return tuple(
            self._touch(copy, name, level, access)
            for name in self.places
            for copy, level, access in self._loads(self.copies[name], 0, set())
        )

    def reads_of(self, array: str, hosts: Collection[str]) -> tuple[Touch, ...]:
        """The reads of one array by some copies in the tree."""
        if "read_events" in self.__dict__:
            return tuple(t for t in self.read_events if t.access.array == array and t.host in hosts)
        return tuple(
            self._touch(copy, name, level, access)
            for name in self.places
            if name in hosts
            for copy, level, access in self._loads(self.copies[name], 0, set())
            if access.array == array
        )

    @cached_property
    def inlined_reads(self) -> tuple[tuple[Copy, Access, Copy], ...]:
        """Every read that computes an operand in place: the reader, the read, the operand."""
        found: list[tuple[Copy, Access, Copy]] = []
        waiting = [self.copies[name] for name in self.places]
        while waiting:
            copy = waiting.pop()
            for access in copy.statement.reads:
                operand = self.operand(copy, access)
                if operand is not None:
                    found.append((copy, access, operand))
                    waiting.append(operand)
        return tuple(found)

    def _loads(
        self, copy: Copy, level: int, seen: set[tuple[str, str]]
    ) -> Iterator[tuple[Copy, int, Access]]:
        """The loads of a copy and of its operands; equal operands of one host count once."""
        for access in copy.statement.reads:
            operand = self.operand(copy, access)
            if operand is None:
                yield copy, level, access
                continue
            key = (operand.statement.name, self._instances(operand, access.ref, copy))
            if key not in seen:
                seen.add(key)
                yield from self._loads(operand, level + 1, seen)

    def _instances(self, operand: Copy, ref: str, reader: Copy) -> str:
        """``{ H[d] -> P[j] }`` of an operand, as text."""
        key = (reader.name, ref)
        if key not in self.instances:
            count = self._host_dims(reader)
            last = operand.domain.dim(dim_type.set) - operand.outer
            pairs = operand.domain.project_out(dim_type.set, count, operand.outer - count)
            text = str(pairs.set_tuple_name("").coalesce())
            self.instances[key] = f"{last} {text}"
        return self.instances[key]

    def _host_dims(self, copy: Copy) -> int:
        """Dimensions of the copy in the tree that an operand is evaluated for."""
        return self.copies[copy.name.split("/")[0]].domain.dim(dim_type.set)

    def _touch(self, copy: Copy, host: str, level: int, access: Access) -> Touch:
        tree_copy = self.copies[host]
        accessed = access.relation.preimage_domain_pw_multi_aff(copy.to_instance)
        accessed = accessed.intersect_domain(copy.domain)
        events = accessed.wrap().flatten().set_tuple_name(f"{copy.name}:{access.ref}")
        whose = _dims(events, 0, copy.domain)
        element = _dims(events, copy.domain.dim(dim_type.set), self.elements[access.array])
        at_host = _dims(events, 0, tree_copy.domain)
        source = whose.apply_range(copy.to_instance.as_map())
        to_source = source.range_product(element.set_tuple_name(dim_type.out, access.ref))
        prefix = at_host.apply_range(self.prefixes[host])
        return Touch(host, access, to_source, element, at_host, level, prefix)


def _operand(scop: Scop, flow: UnionMap, copy: Copy, access: Access) -> Copy:
    """The producer instances ``{ P'[C's dims, j] }`` that an inlined load evaluates."""
    if not access.exact:
        message = f"{access.array} cannot be inlined: this read finds its element in data"
        hint = "fuse it instead: a buffer then holds every element that may be read"
        raise NotFusableError(message, span=access.span, hint=hint)
    tag = access.relation.get_space().domain().from_domain()
    tag = tag.add_dims(dim_type.out, access.relation.dim(dim_type.out))
    reference = Map.universe(tag.set_tuple_name(dim_type.out, access.ref)).wrap()
    sources = maps_of(flow.intersect_range(reference.to_union_set()))
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
    return Copy(name, producer, pairs.set_tuple_name(name), copy.domain.dim(dim_type.set))


def _dims(events: Set, first: int, onto: Set) -> Map:
    """``{ R[d, x] -> D[...] }``: consecutive dimensions of an event, in the space of ``onto``."""
    total, count = events.dim(dim_type.set), onto.dim(dim_type.set)
    result = events.identity()
    result = result.project_out(dim_type.out, first + count, total - first - count)
    result = result.project_out(dim_type.out, 0, first)
    if onto.has_tuple_id():
        result = result.set_tuple_id(dim_type.out, onto.get_tuple_id())
    return result
