"""Cache model: bytes that a program moves through a cache of a given size, from its loops.

Per nest and array: its bytes once, times the iterations of every loop that does not move along
the array and inside which more is touched than the cache holds. So a matrix that every row of
another one needs is read again per row, unless it, or the part of it that a tile needs, fits.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.analysis.sets.linear import bounds_of, links, ranges
from polyopt.analysis.sets.points import parameter_value
from polyopt.codegen.helpers.nontemporal import LINE
from polyopt.ir.expr import Affine, Expr, Load, loads, walk
from polyopt.isl import dim_type
from polyopt.memo import memo, memory
from polyopt.transform.schedule.query import copies_of, path_to
from polyopt.transform.schedule.tree import PlanLoop, copies_in, prefix_map

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from polyopt.ir.scop import Array, Scop
    from polyopt.isl import PwAff
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.storage import Scratch
    from polyopt.transform.schedule.tree import ScheduledStatement, SchedulePosition


def array_bytes(array: Array, sizes: Mapping[str, int]) -> int:
    """The bytes that all elements of an array take; remembered per array and sizes."""
    return _bytes(array, array.type.bytes, array.extents, sizes)


def _bytes(owner: object, each: int, extents: Iterable[PwAff], sizes: Mapping[str, int]) -> int:
    known, key = memory(owner, "bytes"), tuple(sizes.items())
    if key not in known:
        known[key] = each * prod(max(0, parameter_value(extent, sizes)) for extent in extents)
    return known[key]


def large_buffers(program: ScheduledProgram, model: SearchContext) -> tuple[Scratch, ...]:
    """The buffers of a program that the second-level cache does not hold."""
    most = model.target.l2_bytes
    return tuple(s for s in program.scratches if buffer_bytes(program, s, model.sizes) > most)


def buffer_bytes(program: ScheduledProgram, scratch: Scratch, sizes: Mapping[str, int]) -> int:
    """The bytes that a buffer takes."""
    each = program.scop.array(scratch.array).type.bytes
    return _bytes(scratch, each, scratch.extents, sizes)


def private_bytes(program: ScheduledProgram, at: str, sizes: Mapping[str, int]) -> int:
    """Bytes of all buffers private to an iteration of a loop: they are in use together."""
    return sum(buffer_bytes(program, s, sizes) for s in program.scratches if s.at == at)


def argument_bytes(scop: Scop, sizes: Mapping[str, int]) -> int:
    """The bytes of all arrays that a call works on."""
    return sum(array_bytes(a, sizes) for a in scop.arrays if a.role != "temp")


def nest_name(node: PlanLoop | str) -> str:
    """What a nest at the root of a tree is called."""
    return node if isinstance(node, str) else node.name


#: loops that run in nearly all of their longest iterations are counted by these
_DENSE = 0.9
#: how much longer lines take that nothing fetches ahead: a guess, from one column walk
_SCATTERED = 6.0


@dataclass(frozen=True, eq=False)
class Use:
    """One access of a copy in the tree, itself or through an inlined operand."""

    array: str
    host: str
    writes: bool
    #: names of the loops around the host that move along the array
    along: frozenset[str]
    #: of these, the loops that move along its rows: its last subscript
    rows: frozenset[str]
    #: dimensions of the host that the element hangs on
    dims: frozenset[int]
    #: whether the array itself is accessed, and not a scratch
    in_full: bool


@dataclass(frozen=True)
class Moved:
    """Bytes of an array that a nest reads from and writes to beyond a cache."""

    array: str
    read: float
    written: float
    #: whether threads share the loops that move them
    shared: bool
    #: whether it is the array itself, and no buffer
    in_full: bool = True
    #: whether lines come one by one, from row to row: nothing fetches them ahead
    scattered: bool = False


class Traffic:
    """Estimates for one program and sizes; the parts that do not depend on a cache are shared.

    With ``nests`` only these are looked at, by their names, and the others for what they touch.
    """

    def __init__(
        self,
        program: ScheduledProgram,
        sizes: Mapping[str, int],
        nests: Collection[str] | None = None,
    ) -> None:
        self.program, self.sizes = program, sizes
        self.hosts = [
            () if nests is not None and nest_name(node) not in nests else copies_in(node)
            for node in program.tree
        ]
        self.bytes_of = {a.name: array_bytes(a, sizes) for a in program.scop.arrays}

    @cached_property
    def uses(self) -> tuple[Use, ...]:
        """All accesses, in textual order."""
        places = (self.program.places[host] for nest in self.hosts for host in nest)
        return tuple(use for place in places for use in self._uses_of(place))

    def _uses_of(self, place: SchedulePosition) -> Iterator[Use]:
        host = self.program.copies[place.copy]
        target = host.statement
        yield self._use(place, host, target.array, target.index, writes=True)
        yield from self._loads_of(place, host)

    def _loads_of(self, place: SchedulePosition, copy: ScheduledStatement) -> Iterator[Use]:
        for access, load in zip(copy.statement.reads, loads(copy.statement.value), strict=True):
            operand = self.program.operand(copy, access)
            if operand is None:
                yield self._use(place, copy, access.array, load.index, writes=False)
            else:
                yield from self._loads_of(place, operand)

    def _use(
        self,
        place: SchedulePosition,
        copy: ScheduledStatement,
        array: str,
        index: tuple[Expr, ...],
        *,
        writes: bool,
    ) -> Use:
        in_full = self.program.store(place.copy, array) is None
        own = _dims_of(index, copy.outer)
        along = self._along(place, copy, own)
        rows = self._along(place, copy, _dims_of(index[-1:], copy.outer))
        rank = self.program.copies[place.copy].domain.dim(dim_type.set)
        own = frozenset(d for d in own | _linked(copy, own) if d < rank)
        return Use(array, place.copy, writes, along, rows, own, in_full)

    def _along(
        self, place: SchedulePosition, copy: ScheduledStatement, dims: frozenset[int]
    ) -> frozenset[str]:
        """The loops around a host that dimensions of a copy in it move with."""
        moving = dims | _linked(copy, dims)
        return frozenset(loop.name for loop in place.loops if _driven(loop, place.copy) & moving)

    @cached_property
    def trips(self) -> Mapping[tuple[str, str], float]:
        """Iterations of each loop per entry, by copy and loop; about, where it varies."""
        result: dict[tuple[str, str], float] = {}
        for place in (self.program.places[host] for nest in self.hosts for host in nest):
            copy = self.program.copies[place.copy]
            limits = ranges(copy.domain, self.sizes)
            if limits is None:  # it runs at larger sizes only
                result |= {(copy.name, loop.name): 1.0 for loop in place.loops}
                continue
            seen: list[tuple[frozenset[int], float, bool]] = []
            for level, loop in enumerate(place.loops):
                value = loop.values[copy.name]
                whole = _span(value, limits, self.sizes)
                dims = _dims_in(value)
                several = len(dims) > 1
                skewed = any(others & dims and (several or many) for others, _, many in seen)
                dims |= _linked(copy, dims)
                around = [total for others, total, _ in seen if others & dims]
                times = whole / max(around, default=1.0)
                if skewed:  # what is left to it hangs on the loops around it
                    times = self._counted(place, level)
                result[copy.name, loop.name] = max(1.0, times)
                seen.append((dims, whole, several))
        return result

    def iterations(self, copy: str, loop: str) -> float:
        """Iterations of a loop per entry in which a copy runs, on average."""
        place = self.program.places[copy]
        level = next(k for k, node in enumerate(place.loops) if node.name == loop)
        return self._counted(place, level)

    def _counted(self, place: SchedulePosition, level: int) -> float:
        """Iterations of a loop per entry, on average."""
        copy = self.program.copies[place.copy]
        inner, outer = (
            about(prefix_map(copy, place.loops[:depth]).range(), self.sizes) if depth else 1
            for depth in (level + 1, level)
        )
        return inner / max(1, outer)

    def through(self, cache: int) -> dict[str, int]:
        """Bytes per array that come from or go to beyond a cache of so many bytes."""
        result: dict[str, int] = {}
        for moved in itertools.chain.from_iterable(self.moves(cache)):
            result[moved.array] = result.get(moved.array, 0) + round(moved.read + moved.written)
        return result

    def lines(self, cache: int) -> list[dict[bool, float]]:
        """Per nest: bytes of lines from and to beyond a cache, by whether threads share the loops
        that move them. A line that is written is read first, unless its store is non-temporal.

        Calls follow each other: where the cache holds all arrays of a program, they stay there.
        """
        arrays = set[str]().union(*self._touched_in_full)
        warm = sum(self.bytes_of[a] for a in arrays) <= cache // 2
        result: list[dict[bool, float]] = []
        for nest in self.moves(cache):
            by = {True: 0.0, False: 0.0}
            for moved in nest:
                if moved.in_full and warm:
                    continue
                passes_by = moved.in_full and moved.array in self.program.nontemporal
                allocated = 0.0 if passes_by else moved.written
                bytes_ = max(moved.read, allocated) + moved.written
                by[moved.shared] += bytes_ * (_SCATTERED if moved.scattered else 1.0)
            result.append(by)
        return result

    def moves(self, cache: int) -> list[list[Moved]]:
        """What each nest moves past a cache of so many bytes, in textual order."""
        touched = self._touched_in_full
        result: list[list[Moved]] = []
        for number, nest in enumerate(map(set, self.hosts)):
            if not nest:
                continue
            uses = [u for u in self.uses if u.host in nest]
            fitting = self._staying(touched[number], cache)
            found = [
                self._fitting(array, uses, touched[:number], touched[number + 1 :])
                if array in fitting
                else self._streamed(array, uses, cache)
                for array in dict.fromkeys(u.array for u in uses if u.in_full)
            ]
            result.append([*found, *self._overflowing(nest, cache)])
        return result

    @cached_property
    def _touched_in_full(self) -> list[set[str]]:
        """The arrays that each nest accesses themselves, and not in a buffer."""
        program = self.program
        return [
            {
                array
                for host in copies_in(node)
                for array in (program.copies[host].statement.array, *program.arrays_read(host))
                if program.store(host, array) is None
            }
            for node in program.tree
        ]

    def _staying(self, arrays: Collection[str], cache: int) -> set[str]:
        """The arrays that stay in half of a cache while others pass through: the smallest ones."""
        result: set[str] = set()
        room = cache // 2
        for array in sorted(arrays, key=lambda a: (self.bytes_of[a], a)):
            room -= self.bytes_of[array]
            if room < 0:
                break
            result.add(array)
        return result

    def _fitting(
        self, array: str, uses: list[Use], before: list[set[str]], after: list[set[str]]
    ) -> Moved:
        """An array that stays in the cache: it comes once and goes once, where it is live."""
        known, size = self.program.scop.array(array), self.bytes_of[array]
        comes = known.is_live_in and not any(array in arrays for arrays in before)
        goes = known.is_live_out and not any(array in arrays for arrays in after)
        return Moved(array, size * comes, size * goes, self._are_shared(array, uses))

    def _streamed(self, array: str, uses: list[Use], cache: int) -> Moved:
        """An array that the cache does not hold."""
        size = self.bytes_of[array]
        mine = [u for u in uses if u.array == array and u.in_full]
        reads = [self._again(u, uses, cache) for u in mine if not u.writes]
        writes = [self._again(u, uses, cache) for u in mine if u.writes]
        near = bool(writes) and max(reads, default=1.0) <= 1.0
        if near and not self.program.scop.array(array).is_live_in:
            reads = []  # what the nest itself writes comes back from the cache
        read, written = (size * max(times, default=0.0) for times in (reads, writes))
        scattered = any(self._jumps(u) for u in mine)
        return Moved(array, read, written, self._are_shared(array, uses), scattered=scattered)

    def _jumps(self, use: Use) -> bool:
        """Whether the innermost loop that moves along an array goes from row to row; a strip of
        vectors is too short for lines to be fetched ahead."""
        loops = self.program.places[use.host].loops
        trips = {n.name: self.trips[use.host, n.name] for n in loops}
        long = [n for n in loops if trips[n.name] > max(LINE // 4, n.width)]
        along = [n for n in long if n.name in use.along]
        return bool(along) and along[-1].name not in use.rows

    def _are_shared(self, array: str, uses: list[Use]) -> bool:
        return all(
            any(loop.mark == "parallel" for loop in self.program.places[use.host].loops)
            for use in uses
            if use.array == array
        )

    def _overflowing(self, nest: Collection[str], cache: int) -> Iterator[Moved]:
        """Buffers that a cache does not hold: written and read back each time.

        Those of one loop are in use together.
        """
        together: dict[str, int] = {}
        for scratch, size in zip(self.program.scratches, self._buffers, strict=True):
            together[scratch.at] = together.get(scratch.at, 0) + size
        for scratch, each in zip(self.program.scratches, self._buffers, strict=True):
            if together[scratch.at] <= cache:
                continue
            path = path_to(self.program, scratch.at)
            inside = path[-1].copies if path else tuple(self.program.places)
            hosts = [n for n in copies_of(self.program, scratch.array) if n in nest and n in inside]
            if not hosts:
                continue
            size = each * prod(self.trips[hosts[-1], loop.name] for loop in path)
            shared = any(loop.mark == "parallel" for loop in path)
            yield Moved(scratch.array, size, size, shared, in_full=False)

    @cached_property
    def _buffers(self) -> list[int]:
        """The bytes of each buffer of the program."""
        return [buffer_bytes(self.program, s, self.sizes) for s in self.program.scratches]

    def _again(self, use: Use, uses: list[Use], cache: int) -> float:
        """How often an access passes over its array because the cache has lost it."""
        factor = 1.0
        for loop in self.program.places[use.host].loops:
            if loop.name not in use.along and self._inside(loop, uses) > cache:
                factor *= self.trips[use.host, loop.name]
        if factor > 1 and self._density(use.host) < _DENSE:
            factor = max(1.0, self._pairs(use, uses, cache) / self._elements(use))
        return factor * self._lines(use, uses, cache)

    def _pairs(self, use: Use, uses: list[Use], cache: int) -> float:
        """How many elements are touched, anew in each iteration of loops that are too large."""
        place = self.program.places[use.host]
        copy = self.program.copies[use.host]
        large = [self._inside(loop, uses) > cache for loop in place.loops]
        depth = large.index(False) if False in large else len(large)
        #: { C[d] -> [e] }, the dimensions that the element hangs on
        element = copy.domain.identity()
        for position in reversed(range(copy.domain.dim(dim_type.set))):
            if position not in use.dims:
                element = element.project_out(dim_type.out, position, 1)
        times = prefix_map(copy, place.loops[:depth])
        pairs = times.range_product(element.reset_tuple_id(dim_type.out)).range().flatten()
        return float(about(pairs, self.sizes))

    def _elements(self, use: Use) -> float:
        return max(1.0, self.bytes_of[use.array] / self.program.scop.array(use.array).type.bytes)

    def _density(self, host: str) -> float:
        """How many of the iterations that loops have at most a copy runs in."""
        if host not in self._densities:
            loops = self.program.places[host].loops
            most = prod(self.trips[host, loop.name] for loop in loops)
            self._densities[host] = about(self.program.copies[host].domain, self.sizes) / most
        return min(1.0, self._densities[host])

    def _lines(self, use: Use, uses: list[Use], cache: int) -> float:
        """How often a line comes again for its next element: its row is left for too long."""
        along = [n for n in self.program.places[use.host].loops if n.name in use.rows]
        if not along or self._inside(along[-1], uses) <= cache:
            return 1.0
        each = max(1.0, LINE / self.program.scop.array(use.array).type.bytes)
        return min(each, self.trips[use.host, along[-1].name])

    def _inside(self, loop: PlanLoop, uses: list[Use]) -> float:
        """Bytes that one iteration of a loop touches."""
        key = loop.name
        if key not in self._touched:
            hosts = set(copies_in(loop))
            most: dict[tuple[str, bool], float] = {}
            for use in uses:
                if use.host in hosts:
                    part = self._part(use, loop.name)
                    where = use.array, use.in_full
                    most[where] = max(most.get(where, 0.0), part)
            self._touched[key] = sum(most.values())
        return self._touched[key]

    @cached_property
    def _touched(self) -> dict[str, float]:
        return {}

    @cached_property
    def _densities(self) -> dict[str, float]:
        return {}

    def _part(self, use: Use, until: str) -> float:
        """Bytes of a use's array that one iteration of loop ``until`` reaches."""
        size = float(self.bytes_of[use.array])
        loops = self.program.places[use.host].loops
        level = next(k for k, loop in enumerate(loops) if loop.name == until)
        for loop in loops[: level + 1]:
            if loop.name in use.along:
                size /= self.trips[use.host, loop.name]
        if use.rows and not any(loop.name in use.rows for loop in loops[level + 1 :]):
            return size * LINE / self.program.scop.array(use.array).type.bytes
        return size


def _dims_of(index: tuple[Expr, ...], first: int) -> frozenset[int]:
    """The dimensions of a copy that subscripts depend on; its iterators start at ``first``."""
    return frozenset(first + d for subscript in index for d in _dims_at(subscript))


@memo
def _dims_at(subscript: Expr) -> frozenset[int]:
    """The dimensions of a statement that a subscript depends on."""
    found: set[int] = set()
    for node in walk(subscript):
        if isinstance(node, Affine):
            found |= _dims_in(node.form)
        elif isinstance(node, Load):
            found.update(*map(_dims_at, node.index))
    return frozenset(found)


@memo
def _driven(loop: PlanLoop, copy: str) -> frozenset[int]:
    """The dimensions of a copy that a loop's values depend on."""
    return _dims_in(loop.values[copy])


def _dims_in(form: PwAff) -> frozenset[int]:
    count = form.dim(dim_type.in_)
    return frozenset(d for d in range(count) if form.involves_dims(dim_type.in_, d, 1))


@memo
def _links(copy: ScheduledStatement) -> tuple[frozenset[int], ...]:
    return links(copy.domain)


def _linked(copy: ScheduledStatement, dims: frozenset[int]) -> frozenset[int]:
    """The outer dimensions that constraints tie to some dimensions, and the other way round."""
    if not copy.outer:
        return frozenset()
    found = {d for group in _links(copy) if group & dims for d in group}
    inner = any(d < copy.outer for d in dims)
    return frozenset(d for d in found if inner or d < copy.outer)


def _span(value: PwAff, limits: Mapping[int, tuple[int, int]], sizes: Mapping[str, int]) -> float:
    """How many values an expression takes at most, from the ranges of the dimensions."""
    low, high = interval(value, limits, sizes)
    return float(max(1, high - low + 1))


def interval(
    value: PwAff, limits: Mapping[int, tuple[int, int]], sizes: Mapping[str, int]
) -> tuple[int, int]:
    """Least and greatest value of an expression over a box, piece by piece, not always tight."""
    found = [bounds_of(aff, limits, sizes) for _, aff in value.get_pieces()]
    return min((low for low, _ in found), default=0), max((high for _, high in found), default=0)
