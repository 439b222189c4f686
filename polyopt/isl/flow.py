"""Value-based flow: of each read, the last write before it. Asked of isl, and looked over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from polyopt.errors import NotDecidedError
from polyopt.isl.algebra import empty_map, empty_set, maps_of, tuple_name, union_as_is
from polyopt.isl.api import IslError, Map, UnionAccessInfo, UnionMap, UnionSet, dim_type
from polyopt.isl.budgets import budget
from polyopt.isl.strides import strided

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polyopt.isl.api import Val

#: isl operations that its own search may take for all reads, twice those of the largest program of
#: the library, and for those of one array in one statement
_ALL_READS, _ONE_READ = 2_000_000, 500_000
#: and for each pair of a read and a write of one array, which it looks at before it searches: it
#: takes some 60 where hundreds of statements update one array
_EACH_PAIR = 120
#: how isl fails where what strides have misled it to is no function of the reads; see ``strides``
_MISLED = "affine expression involves some of the domain dimensions"

#: reads, writes and times
Accesses = tuple[UnionMap, UnionMap, UnionMap]
Search = Callable[[UnionMap, UnionMap, UnionMap], "Flow"]


class Flow(NamedTuple):
    """Every read of a cell is in one of the two."""

    #: { W[d] -> [R[e] -> A[x]] }: a read and the last write to its cell before it
    sources: UnionMap
    #: { R[e] -> A[x] }: reads of cells that nothing wrote before
    without: UnionMap
    #: whether that was shown
    is_whole: bool = True

    @property
    def pairs(self) -> UnionMap:
        """``{ W[d] -> R[e] }``: the sources of reads that are of one cell each."""
        return self.sources.range_factor_domain()


def last_writes(reads: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    """Of each read the last write, strictly before it in time, of the cell that it reads.

    ``reads`` and ``writes`` are ``{ R[e] -> A[x] }`` and ``{ W[d] -> A[x] }``, ``times`` is
    ``{ R[e] -> [t]; W[d] -> [t] }`` with columns of one number; no two writes of a cell are at one
    time.

    isl's own search may lose reads. Where it does, all are found anew by the definition. Where it
    takes long, reads are taken one by one, and at last piece by piece: see ``paired_last_writes``.
    """
    return _joined(
        _quickly(*part, _ALL_READS + _EACH_PAIR * _pairs(*part[:2])) or _one_by_one(*part)
        for part in _by_array(reads, writes, times)
    )


def each_last_writes(reads: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    """``last_writes`` read by read, and piece by piece where isl's search for one takes long."""
    return _joined(_one_by_one(*part) for part in _by_array(reads, writes, times))


def quick_last_writes(reads: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    """What isl finds of ``last_writes``, where strides may mislead it looked over: right, but
    perhaps not whole.

    It loses reads where remainders by several numbers meet (seen with 2 and 3): these have neither
    a source nor none. To see that takes half as long again where time has many pieces.
    """
    parts = _by_array(reads, writes, times)
    return _joined(_unless_misled(_searched, *part) for part in parts)


def defined_last_writes(reads: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    """``last_writes`` by its definition: the latest of all writes of the cell before the read."""
    parts = _by_array(reads, writes, times)
    return _joined(_unless_misled(_defined, *part) for part in parts)


def _by_array(reads: UnionMap, writes: UnionMap, times: UnionMap) -> list[Accesses]:
    """The accesses to each array that is read, with their order: isl's search looks at all writes
    that it is given, in all columns of time."""
    arrays: dict[str, list[Map]] = {}
    for part in maps_of(reads):
        arrays.setdefault(str(part.get_space().range()), []).append(part)
    result: list[Accesses] = []
    for parts in arrays.values():
        some = union_as_is(parts)
        here = writes.intersect_range(parts[0].range().to_union_set().universe())
        at = times.intersect_domain(some.domain().union(here.domain()).universe())
        result.append((some, here, _without_constants(at)))
    return result


def _without_constants(times: UnionMap) -> UnionMap:
    """The same order, ``{ R[e] -> [t] }``, without columns that hold one number in all of it."""
    parts = maps_of(times)
    if not parts:
        return times
    columns = range(parts[0].dim(dim_type.out))
    fixed = [[p.plain_get_val_if_fixed(dim_type.out, k) for k in columns] for p in parts]
    same = [k for k in columns if _is_one_number([values[k] for values in fixed])]
    for column in reversed(same):
        parts = [part.project_out(dim_type.out, column, 1) for part in parts]
    return union_as_is(parts) if same else times


def _is_one_number(values: Sequence[Val]) -> bool:
    return values[0].is_int() and all(values[0].eq(other) for other in values[1:])


def _joined(flows: Iterable[Flow]) -> Flow:
    found = list(flows)
    sources = union_as_is(flow.sources for flow in found)
    without = union_as_is(flow.without for flow in found)
    return Flow(sources, without, all(flow.is_whole for flow in found))


def _pairs(reads: UnionMap, writes: UnionMap) -> int:
    """How many pairs of a read and a write of one array there are."""
    read, written = (
        Counter(tuple_name(part, dim_type.out) for part in maps_of(union))
        for union in (reads, writes)
    )
    return sum(many * written[array] for array, many in read.items())


def _one_by_one(reads: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    parts = [part.to_union_map() for part in maps_of(reads)]
    return _joined(
        _quickly(part, writes, times, _ONE_READ) or paired_last_writes(part, writes, times)
        for part in parts
    )


def _quickly(reads: UnionMap, writes: UnionMap, times: UnionMap, most: int) -> Flow | None:
    """What isl's search finds, made whole; ``None`` where it takes more operations."""
    try:
        with budget(most, "isl's search for last writes"):
            flow = _unless_misled(_searched, reads, writes, times)
            is_whole = _is_whole(flow, reads)
    except NotDecidedError:
        return None
    if is_whole:
        return flow._replace(is_whole=True)
    return _unless_misled(_defined, reads, writes, times)


def _searched(reads: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    info = UnionAccessInfo.from_sink(reads).set_must_source(writes).set_schedule_map(times)
    found = info.compute_flow()
    return Flow(found.get_full_must_dependence(), found.get_must_no_source(), is_whole=False)


def _is_whole(flow: Flow, reads: UnionMap) -> bool:
    """Whether every read has either a source or none."""
    known = flow.sources.range()
    if not flow.without.is_empty():
        known = known.union(flow.without.wrap())
    return reads.wrap().is_subset(known)


def _defined(reads: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    earlier = _before(reads, writes, times)
    latest = earlier.apply_range(times).lexmax()  # { [R[e] -> A[x]] -> [t] }
    sources = earlier.intersect(latest.apply_range(times.reverse())).coalesce().reverse()
    return Flow(sources, reads.wrap().subtract(sources.range()).unwrap())


def _unless_misled(search: Search, reads: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    """What a search finds; that of reads where strides have misled isl without its maximum.

    Raises ``NotDecidedError`` where it cannot be shown of that either that it is right.
    """
    try:
        flow = search(reads, writes, times)
    except IslError as error:
        if _MISLED not in str(error):
            raise
        parts = [part.to_union_map() for part in maps_of(reads)]
        if len(parts) == 1:
            return _mended(reads, writes, times)
        flow = _joined(_unless_misled(search, part, writes, times) for part in parts)
        return flow._replace(is_whole=False)
    for read, suspects in strided(reads, writes, times, flow.sources):
        one = read.to_union_map()
        if _is_last(flow, one, union_as_is(suspects), times):
            continue
        mended = _mended(one, writes, times)
        sources = flow.sources.subtract_range(one.wrap()).union(mended.sources)
        without = flow.without.subtract(one).union(mended.without)
        flow = flow._replace(sources=sources, without=without)
    return flow


def _mended(read: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    """``last_writes`` of one read as the writes before it that no other of them follows."""
    here = writes.intersect_range(read.range().universe())
    earlier = _before(read, here, times)
    at = times.intersect_domain(here.domain().universe())
    hidden = earlier.apply_range(at.lex_gt_union_map(at))
    sources = earlier.subtract(hidden).coalesce().reverse()
    flow = Flow(sources, read.wrap().subtract(earlier.domain()).unwrap())
    if _is_whole(flow, read) and _is_last(flow, read, here, times):
        return flow
    msg = "isl does not decide which writes of strided loops are the last"
    raise NotDecidedError(msg, hint="fix some sizes, or write the loops without steps")


def _is_last(flow: Flow, read: UnionMap, writes: UnionMap, times: UnionMap) -> bool:
    """Whether none of the writes comes between a read and its source, or before one without."""
    earlier = _before(read, writes, times)
    if not flow.without.intersect(read).wrap().intersect(earlier.domain()).is_empty():
        return False
    found = flow.sources.intersect_range(read.wrap()).reverse()
    into, others = (part.range().universe() for part in (found, earlier))
    follows = times.intersect_domain(into).lex_lt_union_map(times.intersect_domain(others))
    # both writes are kept: to find whether there are any, none has to be projected out
    return found.range_product(earlier).intersect_range(follows.wrap()).is_empty()


def _before(reads: UnionMap, writes: UnionMap, times: UnionMap) -> UnionMap:
    """``{ [R[e] -> A[x]] -> W[d] }``: the writes of the cell before each read."""
    read_at = reads.domain_map().apply_range(times)
    order = read_at.lex_gt_union_map(times.intersect_domain(writes.domain().universe()))
    return reads.range_map().apply_range(writes.reverse()).intersect(order)


def paired_last_writes(reads: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    """``last_writes`` of each pair of pieces, of which the latest is the last.

    Remainders by several numbers multiply in a search through all writes at once: what comes
    before what is then a case for each of their combinations. A single piece of the writes has
    only its own.
    """
    sources, known = empty_map(), empty_set()
    for part in _pieces(reads):
        here = writes.intersect_range(part.range())
        latest = [_last_of(part, piece, times) for piece in _pieces(here)]
        latest = [one for one in latest if not one.is_empty()]
        for one in latest:
            known = known.union(one.domain())
            sources = sources.union(_unless_later(one, latest, times).reverse())
    return Flow(sources, reads.wrap().subtract(known.coalesce()).unwrap())


def _pieces(union: UnionMap) -> list[UnionMap]:
    return [
        Map.from_basic_map(piece).to_union_map()
        for part in maps_of(union)
        for piece in part.get_basic_maps()
    ]


def _last_of(read: UnionMap, write: UnionMap, times: UnionMap) -> UnionMap:
    """``{ [R[e] -> A[x]] -> W[d] }``: the last of the writes of a piece before each read of one."""
    flow = _unless_misled(_searched, read, write, times)
    if not _is_whole(flow, read):
        flow = _unless_misled(_defined, read, write, times)
    return flow.sources.reverse().coalesce()


def _unless_later(one: UnionMap, others: list[UnionMap], times: UnionMap) -> UnionMap:
    """``{ [R[e] -> A[x]] -> W[d] }``: those of the writes that no other one follows."""
    kept = one
    for other in others:
        if other is not one:
            kept = kept.subtract_domain(_earlier(one, other, times)).coalesce()
    return kept


def _earlier(one: UnionMap, other: UnionMap, times: UnionMap) -> UnionSet:
    """``{ [R[e] -> A[x]] }``: the reads before which one write comes earlier than another."""
    both = one.apply_range(times).range_product(other.apply_range(times))
    spaces = [part.get_space().range().unwrap().domain() for part in maps_of(both)]
    order = union_as_is(Map.lex_lt(space) for space in spaces[:1])  # { [t] -> [t'] }
    return both.intersect_range(order.wrap()).domain().coalesce()
