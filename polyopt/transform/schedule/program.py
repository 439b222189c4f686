"""The transformed program as relations: what the plan runs, when, and on which storage.

Both the proof and the code come from these: copies, their time, and the cells they touch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from polyopt.errors import InvalidOptionError
from polyopt.isl import dim_type, exclusive, union_as_is
from polyopt.memo import Same, memory
from polyopt.oneline import one_line, some
from polyopt.transform.schedule.access import (
    ScheduledAccess,
    instances_of,
    known_prefix,
    operand_of,
    reads_as_one,
    together,
    touch_of,
)
from polyopt.transform.schedule.storage import (
    Scratch,
    StorageDirective,
    cells,
    check_inside,
    fit,
    project_tail,
    store_for,
)
from polyopt.transform.schedule.tree import clock_of, places, time_map

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from polyopt.analysis.dependences import Dependences
    from polyopt.ir.scop import Access, Scop
    from polyopt.isl import Map, Set, UnionMap
    from polyopt.transform.schedule.access import Load as _Load
    from polyopt.transform.schedule.tree import PlanLoop, ScheduledStatement, SchedulePosition, Tree


def _alike(reads: Iterable[ScheduledAccess]) -> Iterable[list[ScheduledAccess]]:
    """Reads by copy, array and buffer."""
    groups: dict[tuple[str, str, Scratch | None], list[ScheduledAccess]] = {}
    for touch in reads:
        key = (touch.copy, touch.access.array, touch.scratch)
        groups.setdefault(key, []).append(touch)
    return groups.values()


@dataclass(frozen=True, eq=False)
class ScheduledProgram:
    """Scheduled statements in a tree, with storage; the input of proof and code generation."""

    scop: Scop
    copies: Mapping[str, ScheduledStatement]
    tree: Tree
    stores: tuple[StorageDirective, ...] = ()
    #: arrays whose elements are computed where they are read, and never stored
    inlined: frozenset[str] = frozenset()
    #: { P[j] -> [S[i] -> ref[x]] } : the source's flow, which says what to compute there
    flow: UnionMap | None = None
    #: the arrays whose accesses are looked at: ``None`` for all (see ``changed_arrays``)
    watched: frozenset[str] | None = None
    #: the statements whose sums may be added up in any order (see ``annotations/reassociate.py``)
    reassociated: frozenset[str] = frozenset()
    #: result -> bytes of caches that it is stored past (see ``annotations/nontemporal.py``)
    nontemporal: Mapping[str, int] = field(default_factory=dict[str, int])
    #: the source's dependences once they are asked for: all programs made from one share them, and
    #: no others do, or what a search may take would depend on those before it
    known: list[Dependences] = field(default_factory=list["Dependences"])

    def __repr__(self) -> str:
        """Whose it is, and how much it has."""
        copies, nests = some(len(self.places), "statement"), some(len(self.tree), "nest")
        return one_line(self, self.scop.name, copies, nests, some(len(self.scratches), "buffer"))

    def __reduce__(self) -> NoReturn:
        """Names of copies are no identifiers, which isl needs to read its own text: raises."""
        raise InvalidOptionError("the program of a plan does not travel", hint="pickle the plan")

    def __copy__(self) -> ScheduledProgram:
        return self

    def __deepcopy__(self, memo: object) -> ScheduledProgram:
        return self

    @cached_property
    def places(self) -> Mapping[str, SchedulePosition]:
        """Where each copy stands in the tree."""
        return {place.copy: place for place in places(self.tree)}

    @property
    def dependences(self) -> Dependences:
        """Those of its source, found once for all programs that are made from one."""
        with exclusive():
            if not self.known:
                self.known.append(self.scop.dependences())
            return self.known[0]

    @cached_property
    def clock(self) -> tuple[bool, ...]:
        """Per level of the tree, whether textual positions differ there: see ``clock_of``."""
        return clock_of(self.places.values())

    @cached_property
    def time_columns(self) -> int:
        """How long the time of an access is."""
        return sum(self.clock) + len(self.clock) - 1 + self._has_operands

    @cached_property
    def _has_operands(self) -> bool:
        """Whether copies compute operands in place, which read before their hosts do."""
        return bool(self.inlined)

    @property
    def elements(self) -> Mapping[str, Set]:
        """``{ A[x] }`` per array."""
        return self.scop.elements

    @cached_property
    def prefixes(self) -> Mapping[str, Map]:
        """``{ C[d] -> [t] }`` per copy in the tree: the values of all loops around it."""
        return {name: known_prefix(self.copies[name], place) for name, place in self.places.items()}

    def time(self, touch: ScheduledAccess) -> Map:
        """``{ R[d, x] -> time }`` of an access, whether it happens or not.

        One piece: clamped accesses have nine, and each would be compared with each.
        """
        copy, place = self.copies[touch.host], self.places[touch.host]
        micro = -touch.level if self._has_operands else None
        return touch.to_host.apply_range(time_map(copy, place, self.clock, micro))

    @cached_property
    def loads(self) -> tuple[tuple[str, Access], ...]:
        """Every load from storage with the copy in the tree that does it."""
        return tuple(
            (name, access)
            for name in self.places
            for _, _, access in self._loads(self.copies[name])
        )

    def readers(self, array: str) -> tuple[str, ...]:
        """The copies in the tree that load an array from storage."""
        return tuple(self._readers.get(array, ()))

    @cached_property
    def _readers(self) -> Mapping[str, list[str]]:
        """The copies in the tree by the arrays that they load from storage."""
        result: dict[str, list[str]] = {}
        for name in self.places:
            for array in self.arrays_read(name):
                result.setdefault(array, []).append(name)
        return result

    def arrays_read(self, name: str) -> Collection[str]:
        """The arrays that a copy in the tree loads from storage."""
        return self._loaded(self.copies[name]).keys()

    @cached_property
    def _writers(self) -> Mapping[str, list[str]]:
        """The copies in the tree by the array that they write."""
        result: dict[str, list[str]] = {}
        for name in self.places:
            result.setdefault(self.copies[name].statement.array, []).append(name)
        return result

    def makers(self, array: str) -> tuple[str, ...]:
        """The copies in the tree that compute an array's elements: all that write it but packs."""
        return tuple(n for n in self._writers.get(array, ()) if not self.copies[n].fills)

    def buffers(self, array: str) -> tuple[Scratch, ...]:
        """The buffers that hold an array's elements when they are computed; packs are none."""
        packs = {copy.fills for copy in self.copies.values()}
        return tuple(s for s in self.scratches if s.array == array and s.name not in packs)

    def scratch(
        self, copy: str, array: str, *, reading: bool = True, ref: str = ""
    ) -> Scratch | None:
        """Which scratch a copy's accesses to an array go to; ``None`` for the array itself."""
        store = self.store(copy, array, reading=reading, ref=ref)
        if store is None:
            return None
        if store not in self._found:
            self._found[store] = self.scratch_of(store)
        return self._found[store]

    @cached_property
    def _found(self) -> dict[StorageDirective, Scratch]:
        return {}

    def store(
        self, copy: str, array: str, *, reading: bool = True, ref: str = ""
    ) -> StorageDirective | None:
        """The storage directive that a statement's accesses to an array fall under."""
        fills = self.copies[copy].fills
        if fills and not reading:
            return next(s for s in self.stores if s.name == fills)
        return store_for(self.stores, array, self.places[copy], fills, ref)

    def operand(self, copy: ScheduledStatement, access: Access) -> ScheduledStatement | None:
        """The copy computed in place of a load, if its array is inlined.

        Its outer dimensions are all dimensions of the copy that reads it.
        """
        if access.array not in self.inlined or self.flow is None:
            return None
        return operand_of(self.scop, self.flow, copy, access)

    @cached_property
    def scratches(self) -> tuple[Scratch, ...]:
        """The stores' buffers, sized by what the copies inside their loops touch."""
        return tuple(self.scratch_of(store) for store in self.stores)

    def scratch_of(self, store: StorageDirective) -> Scratch:
        """The box of ``{ [t] -> A[x] }`` over all accesses inside the store's loop."""
        array = store.array
        writers = self._writers.get(array, ())
        readers = [
            n
            for n in self.readers(array)
            if any(self.store(n, array, ref=ref) is store for ref in store.refs or ("",))
        ]
        touched = (
            *(self._write(n) for n in writers if self.store(n, array, reading=False) is store),
            *self.reads_of(array, readers, store.refs),
        )
        depth = len(self.paths.get(store.at, ()))
        known, key = memory(self.scop, "buffers"), (store, depth, touched)
        if key not in known:
            parts = [
                project_tail(t.prefix, depth).reverse().apply_range(t.element) for t in touched
            ]
            known[key] = fit(store, depth, parts, self.scop, self.elements[store.array])
        return known[key]

    @cached_property
    def paths(self) -> Mapping[str, tuple[PlanLoop, ...]]:
        """The loops from the root down to each loop around a copy, including it."""
        return {
            loop.name: place.loops[:depth]
            for place in reversed(list(self.places.values()))
            for depth, loop in enumerate(place.loops, 1)
        }

    def _write(self, name: str) -> ScheduledAccess:
        return self._touch(self.copies[name], name, 0, self.copies[name].statement.write)

    @cached_property
    def writes(self) -> tuple[ScheduledAccess, ...]:
        """The writes of all copies in the tree, on the plan's storage, in textual order."""
        return tuple(self._on_storage(touch, reading=False) for touch in self.write_events)

    @cached_property
    def reads(self) -> tuple[ScheduledAccess, ...]:
        """The reads of all copies on the plan's storage, inlined operands' included."""
        return tuple(self._on_storage(touch, reading=True) for touch in self.read_events)

    @cached_property
    def reads_together(self) -> tuple[tuple[ScheduledAccess, ...], UnionMap]:
        """The reads with those of one copy and array as one, and the map back to each of them."""
        merged: list[ScheduledAccess] = []
        back: list[UnionMap] = []
        for touches in _alike(self.reads):
            one, split = self._together(touches)
            merged.append(one)
            back.append(split)
        return tuple(merged), union_as_is(back)

    def _together(self, touches: Sequence[ScheduledAccess]) -> tuple[ScheduledAccess, UnionMap]:
        """Reads of one copy and array as one, on the plan's storage, and the map back to each."""
        known, key = memory(self.scop, "reads as one"), tuple(touches)
        if key not in known:
            host = self.copies[touches[0].host]
            one, split = together(self.scop, host, self.prefixes[host.name], touches)
            known[key] = self._on_storage(one, reading=True), split
        return known[key]

    def flat_cells(self, touch: ScheduledAccess) -> Map:
        """``{ R[d, x] -> cell }`` as if no window of a buffer ever wrapped around."""
        if touch.scratch is None or not touch.scratch.is_folded:
            return touch.cells
        elements = self.elements[touch.access.array]
        return cells(touch.prefix, touch.element, touch.scratch, elements, flat=True)

    def _on_storage(self, touch: ScheduledAccess, *, reading: bool) -> ScheduledAccess:
        ref = touch.access.ref
        scratch = self.scratch(touch.host, touch.access.array, reading=reading, ref=ref)
        known, key = memory(self.scop, "accesses on storage"), (touch, scratch)
        if key not in known:
            if scratch is not None:
                check_inside(touch.prefix, scratch.depth)
            elements = self.elements[touch.access.array]
            known[key] = replace(touch, scratch=scratch, elements=elements)
        return known[key]

    @cached_property
    def write_events(self) -> tuple[ScheduledAccess, ...]:
        """The writes of all copies in the tree, in textual order, before storage is chosen."""
        return tuple(
            self._write(name)
            for name in self.places
            if self.is_watched(self.copies[name].statement.array)
        )

    @cached_property
    def read_events(self) -> tuple[ScheduledAccess, ...]:
        """The reads of all copies from storage, those of inlined operands included."""
        return tuple(
            self._touch(copy, name, level, access)
            for name in self.places
            for copy, level, access in self._loads(self.copies[name])
            if self.is_watched(access.array)
        )

    def is_watched(self, array: str) -> bool:
        """Whether accesses to an array are looked at."""
        return self.watched is None or array in self.watched

    def touches_in(
        self, hosts: Collection[str]
    ) -> tuple[list[ScheduledAccess], list[ScheduledAccess]]:
        """The writes and the reads of some copies in the tree, on the plan's storage."""
        if "reads" in self.__dict__:
            both = self.writes, self.reads
            writes, reads = ([t for t in part if t.host in hosts] for part in both)
            return writes, reads
        names = [name for name in self.places if name in hosts]
        writes = [self._on_storage(self._write(name), reading=False) for name in names]
        reads = [
            self._on_storage(self._touch(copy, name, level, access), reading=True)
            for name in names
            for copy, level, access in self._loads(self.copies[name])
        ]
        return writes, reads

    def together(self, reads: Iterable[ScheduledAccess]) -> list[ScheduledAccess]:
        """Reads with those of one copy and array as one."""
        return [self._together(touches)[0] for touches in _alike(reads)]

    def reads_of(
        self, array: str, hosts: Collection[str], refs: Collection[str] = ()
    ) -> tuple[ScheduledAccess, ...]:
        """The reads of one array by some copies in the tree, those of one copy as one.

        With ``refs`` just those by some references, each for itself.
        """
        if refs:
            return tuple(
                self._touch(copy, name, level, access)
                for name in self.places
                if name in hosts
                for copy, level, access in self._loads(self.copies[name])
                if access.array == array and access.ref in refs
            )
        return tuple(
            self._touch(copy, name, level, reads_as_one(copy.statement, array))
            for name in self.places
            if name in hosts
            for copy, level in self._loaded(self.copies[name]).get(array, ())
        )

    @cached_property
    def inlined_reads(self) -> tuple[tuple[ScheduledStatement, Access, ScheduledStatement], ...]:
        """Every read that computes an operand in place: the reader, the read, the operand."""
        found: list[tuple[ScheduledStatement, Access, ScheduledStatement]] = []
        waiting = [self.copies[name] for name in self.places]
        while waiting:
            copy = waiting.pop()
            for access in copy.statement.reads:
                operand = self.operand(copy, access)
                if operand is not None:
                    found.append((copy, access, operand))
                    waiting.append(operand)
        return tuple(found)

    def _loads(self, copy: ScheduledStatement) -> tuple[_Load, ...]:
        """The loads of a copy and of its operands; equal operands of one host count once."""
        known, key = memory(copy, "loads"), (self.inlined, Same(self.flow))
        if key not in known:
            known[key] = tuple(self._loads_at(copy, 0, set()))
        return known[key]

    def _loaded(
        self, copy: ScheduledStatement
    ) -> Mapping[str, tuple[tuple[ScheduledStatement, int], ...]]:
        """Per array that a copy loads from storage: itself or the operand, how deep inside."""
        known, key = memory(copy, "loaded arrays"), (self.inlined, Same(self.flow))
        if key not in known:
            found: dict[str, dict[tuple[ScheduledStatement, int], None]] = {}
            for owner, level, access in self._loads(copy):
                found.setdefault(access.array, {})[owner, level] = None
            known[key] = {array: tuple(who) for array, who in found.items()}
        return known[key]

    def _loads_at(
        self, copy: ScheduledStatement, level: int, seen: set[tuple[str, str]]
    ) -> Iterator[_Load]:
        for access in copy.statement.reads:
            operand = self.operand(copy, access)
            if operand is None:
                yield copy, level, access
                continue
            key = (operand.statement.name, instances_of(operand, self._host_dims(copy)))
            if key not in seen:
                seen.add(key)
                yield from self._loads_at(operand, level + 1, seen)

    def _host_dims(self, copy: ScheduledStatement) -> int:
        """Dimensions of the copy in the tree that an operand is evaluated for."""
        return self.copies[copy.name.split("/")[0]].domain.dim(dim_type.set)

    def _touch(
        self, copy: ScheduledStatement, host: str, level: int, access: Access
    ) -> ScheduledAccess:
        place = self.places[host]
        return touch_of(self.scop, copy, self.copies[host], place, level, access)


def changed_arrays(before: ScheduledProgram, after: ScheduledProgram) -> frozenset[str]:
    """The arrays whose flow may differ between two programs, the others' order being the same.

    Those that are accessed by a copy which is new, gone, or in other loops, and those kept in
    another buffer. For a move that leaves the order of all other copies as it was: dataflow goes
    through one array at a time, so a proof of ``after`` that watches these says it of all.
    """
    one, other = _settings(before), _settings(after)
    found = {s.array for s in {*before.stores} ^ {*after.stores}} | (before.inlined ^ after.inlined)
    for program, mine, others in ((before, one, other), (after, other, one)):
        for name in mine.keys() - {n for n in mine if mine[n] == others.get(n)}:
            found |= {program.copies[name].statement.array, *program.arrays_read(name)}
    return frozenset(found)


def _settings(program: ScheduledProgram) -> dict[str, tuple[object, ...]]:
    """Per copy, what its time depends on beside its neighbours; told apart by identity."""
    return {
        name: (id(program.copies[name]), *((n.name, id(n.values[name])) for n in place.loops))
        for name, place in program.places.items()
    }
