"""Who reads what whom wrote: exact dependences of a program in its source order.

*Value-based* dependences connect an access to the nearest one, in time, that it depends on: the
writer whose value is read, the write that overwrites it. *Memory-based* ones connect all pairs of
accesses to one element, in order. Reads of data-dependent elements count for every element that
the index may name, each with its own last writer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polyopt.isl import (
    MultiUnionPwAff,
    UnionMap,
    budget,
    compose,
    dim_type,
    empty_map,
    exclusive_property,
    integer_val,
    last_writes,
    maps_of,
    tuple_name,
    union_all,
)
from polyopt.oneline import one_line, some

if TYPE_CHECKING:
    from polyopt.analysis.distance import DependenceRow
    from polyopt.ir.scop import Scop

#: isl operations that one analysis may spend; a few seconds on today's machines.
DEFAULT_BUDGET = 200_000_000


@dataclass(frozen=True, eq=False)
class Dependences:
    """The dependences of ``scop``. Other kinds than flow are computed when first asked for,
    within the same budget of isl operations.
    """

    scop: Scop
    #: { P[j] -> [S[i] -> ref[]] }: the writer whose value a read reference may see
    tagged_flow: UnionMap
    #: { [S[i] -> ref[]] -> A[x] }: reads that no statement wrote before
    live_in: UnionMap
    operations: int = DEFAULT_BUDGET
    #: what was found out about them, for as long as they are there
    found: dict[object, Any] = field(default_factory=dict[object, "Any"])

    @exclusive_property
    def flow(self) -> UnionMap:
        """``{ P[j] -> S[i] }``: S reads the value that P wrote."""
        return self.tagged_flow.range_factor_domain().coalesce()

    @exclusive_property
    def value_output(self) -> UnionMap:
        """``{ P[j] -> T[k] }``: T overwrites what P wrote, nothing writes in between."""
        writes = self.scop.writes
        with budget(self.operations, "output dependences"):
            times = timed(self.scop, reads_within(self.scop), writes)
            return last_writes(writes, writes, times).pairs.coalesce()

    @exclusive_property
    def value_anti(self) -> UnionMap:
        """``{ S[i] -> T[k] }``: T overwrites what S read, nothing writes in between.

        An instance that overwrites what it reads itself does not count.
        """
        output, writes = self.value_output, self.scop.writes
        with budget(self.operations, "anti dependences"):
            # what overwrites the value that a read sees, or the caller's, is the next write
            seen = self.flow.reverse().apply_range(output)
            first = writes.subtract_domain(output.range()).reverse()
            callers = self.live_in.domain_factor_domain().apply_range(first)
            pairs = seen.union(callers)
            return pairs.subtract(self.scop.domain.identity()).coalesce()

    @exclusive_property
    def live_out(self) -> UnionMap:
        """``{ S[i] -> A[x] }``: the last write of each element that outlives the program."""
        scop = self.scop
        kept = union_all(
            part
            for part in maps_of(scop.writes)
            if scop.array(tuple_name(part, dim_type.out)).is_live_out
        )
        return kept.subtract_domain(self.value_output.domain()).coalesce()

    @exclusive_property
    def anti(self) -> UnionMap:
        """``{ S[i] -> T[k] }``: S reads an element that T later writes. Memory-based."""
        reads, writes = _untagged_reads(self.scop), self.scop.writes
        with budget(self.operations, "anti dependences"):
            return in_order(self.scop, reads.apply_range(writes.reverse()))

    @exclusive_property
    def output(self) -> UnionMap:
        """``{ P[j] -> T[k] }``: T writes an element that P wrote. Memory-based."""
        writes = self.scop.writes
        with budget(self.operations, "output dependences"):
            return in_order(self.scop, writes.apply_range(writes.reverse()))

    @exclusive_property
    def memory_flow(self) -> UnionMap:
        """``{ P[j] -> S[i] }``: S reads an element that P wrote. Memory-based."""
        reads, writes = _untagged_reads(self.scop), self.scop.writes
        with budget(self.operations, "flow dependences"):
            return in_order(self.scop, writes.apply_range(reads.reverse()))

    @exclusive_property
    def memory(self) -> UnionMap:
        """All memory-based dependences: what an order has to keep if no storage changes."""
        return union_all((self.memory_flow, self.anti, self.output))

    @exclusive_property
    def value(self) -> UnionMap:
        """All value-based dependences; their transitive closure covers ``memory``."""
        return union_all((self.flow, self.value_anti, self.value_output))

    def _repr_html_(self) -> str:
        from polyopt.explain.jupyter import dependences_html

        return dependences_html(self)

    def rows(self) -> tuple[DependenceRow, ...]:
        """One row per kind, source, sink and array, with distance and a witness."""
        from polyopt.analysis.distance import dependence_rows

        return dependence_rows(self)

    def __repr__(self) -> str:
        """Whose they are; nothing is worked out for that."""
        statements = some(len(self.scop.statements), "statement")
        return one_line(self, self.scop.name, statements, some(len(self.scop.arrays), "array"))

    def __str__(self) -> str:
        """The rows as a table of at most 80 columns."""
        from polyopt.analysis.distance import table

        return table(self.rows())


def dependences(scop: Scop, *, budget: int = DEFAULT_BUDGET) -> Dependences:
    """The exact dependences of a program.

    ``budget`` bounds the isl operations. Raises ``NotDecidedError`` when it is spent.
    """
    operations = budget
    with _budget(operations, f"dependences of {scop.name}"):
        reads, writes = reads_within(scop), scop.writes
        time = timed(scop, reads, writes)
        found = last_writes(reads, writes, time)
        return Dependences(scop, found.pairs.coalesce(), found.without.coalesce(), operations)


_budget = budget


def reads_within(scop: Scop) -> UnionMap:
    """``{ [S[i] -> ref[]] -> A[x] }``: the reads, those of unknown elements within the array."""
    if all(read.exact for s in scop.statements for read in s.reads):
        return scop.reads
    elements = union_all(
        part.intersect_range(scop.elements[tuple_name(part, dim_type.out)])
        for part in maps_of(scop.reads)
    )
    return elements.intersect_params(scop.context)


def _untagged_reads(scop: Scop) -> UnionMap:
    """``{ S[i] -> A[x] }``."""
    return reads_within(scop).domain_factor_domain().coalesce()


def timed(scop: Scop, reads: UnionMap, writes: UnionMap) -> UnionMap:
    """``{ S[i] -> [time, 1]; [S[i] -> ref[]] -> [time, 0] }``: an instance reads, then writes.

    For all ``i``, whether the instance exists or not: accesses in pieces, such as clamped ones,
    have nine, and the time of each is the same.
    """
    schedule = scop.schedule.gist_domain(scop.domain)
    written = schedule.intersect_domain(writes.domain().universe())
    tags = reads.domain().universe().unwrap().domain_map()
    if tags.is_empty():
        return _ending(written, 1)
    read = compose(tags, schedule, why="time of reads")
    return _ending(written, 1).union(_ending(read, 0))


def _ending(schedule: UnionMap, last: int) -> UnionMap:
    """``{ S[i] -> [time, last] }``."""
    result = empty_map()
    for part in maps_of(schedule):
        wide = part.add_dims(dim_type.out, 1)
        number = integer_val(last)
        result = result.union(wide.fix_val(dim_type.out, wide.dim(dim_type.out) - 1, number))
    return result


def in_order(scop: Scop, pairs: UnionMap) -> UnionMap:
    """The pairs ``{ S[i] -> T[k] }`` whose first runs before its second."""
    if pairs.is_empty():
        return pairs
    time = MultiUnionPwAff.from_union_map(scop.schedule)
    return pairs.lex_lt_at_multi_union_pw_aff(time).coalesce()
