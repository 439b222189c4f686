"""Value-based flow: of each read, the last write before it. Asked of isl, and looked over."""

from __future__ import annotations

from typing import NamedTuple

from polyopt.isl.api import UnionAccessInfo, UnionMap


class Flow(NamedTuple):
    """Every read of a cell is in one of the two."""

    #: { W[d] -> [R[e] -> A[x]] }: a read and the last write to its cell before it
    sources: UnionMap
    #: { R[e] -> A[x] }: reads of cells that nothing wrote before
    without: UnionMap

    @property
    def pairs(self) -> UnionMap:
        """``{ W[d] -> R[e] }``: the sources of reads that are of one cell each."""
        return self.sources.range_factor_domain()


def last_writes(reads: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    """Of each read the last write, strictly before it in time, of the cell that it reads.

    ``reads`` and ``writes`` are ``{ R[e] -> A[x] }`` and ``{ W[d] -> A[x] }``, ``times`` is
    ``{ R[e] -> [t]; W[d] -> [t] }`` with columns of one number; no two writes of a cell are at one
    time.

    isl's own search may lose reads. Where it does, all are found anew by the definition.
    """
    flow = quick_last_writes(reads, writes, times)
    return flow if _is_whole(flow, reads) else defined_last_writes(reads, writes, times)


def quick_last_writes(reads: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    """What isl finds of ``last_writes``: right, but perhaps not whole.

    It loses reads where remainders by several numbers meet (seen with 2 and 3): these have neither
    a source nor none. To see that takes half as long again where time has many pieces.
    """
    info = UnionAccessInfo.from_sink(reads).set_must_source(writes).set_schedule_map(times)
    found = info.compute_flow()
    return Flow(found.get_full_must_dependence(), found.get_must_no_source())


def _is_whole(flow: Flow, reads: UnionMap) -> bool:
    """Whether every read has either a source or none."""
    known = flow.sources.range()
    if not flow.without.is_empty():
        known = known.union(flow.without.wrap())
    return reads.wrap().is_subset(known)


def defined_last_writes(reads: UnionMap, writes: UnionMap, times: UnionMap) -> Flow:
    """``last_writes`` by its definition: the latest of all writes of the cell before the read."""
    cells = reads.range_map()  # { [R[e] -> A[x]] -> A[x] }
    read_at = reads.domain_map().apply_range(times)
    earlier = cells.apply_range(writes.reverse()).intersect(read_at.lex_gt_union_map(times))
    latest = earlier.apply_range(times).lexmax()  # { [R[e] -> A[x]] -> [t] }
    sources = earlier.intersect(latest.apply_range(times.reverse())).coalesce().reverse()
    return Flow(sources, reads.wrap().subtract(sources.range()).unwrap())
