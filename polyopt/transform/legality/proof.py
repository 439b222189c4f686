"""The proof that a plan computes what its source computes: equality of dataflow.

Both programs become events in time on cells of storage. Value-based flow says for each read
event which write its value comes from. Projected onto the source's instances, the plan's flow
has to be the source's: this one equation covers order, coverage of fused reads, recomputation,
clobbering of reused scratch, and folding. A final read of every live-out element makes the last
writers part of it. (P. Feautrier, "Dataflow analysis of array and scalar references", 1991;
for the program with mapped storage, docs/adr/0004.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.errors import (
    CoverageError,
    NotDecidedError,
    OrderViolatedError,
    UserError,
)
from polyopt.isl import (
    Map,
    Set,
    UnionMap,
    affine_constant,
    budget,
    coalesced_map,
    defined_last_writes,
    dim_type,
    each_last_writes,
    last_writes,
    maps_of,
    quick_last_writes,
    tuple_name,
    union_all,
    union_as_is,
)
from polyopt.memo import Same, memory
from polyopt.transform.annotations.nontemporal import check_nontemporal
from polyopt.transform.legality.dependence_order import keeps_order
from polyopt.transform.legality.diagnostics import (
    accesses,
    extra_value,
    missing_value,
    no_room,
    overwritten,
    touch_of,
    witness,
)
from polyopt.transform.legality.instances import check_copies
from polyopt.transform.legality.packed import through_packs
from polyopt.transform.legality.parallel import Obligation, check_marks
from polyopt.transform.legality.unroll import check_unrolled
from polyopt.transform.schedule.limits import check_buffers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from polyopt.isl import UnionSet
    from polyopt.isl.flow import Flow as FoundFlow
    from polyopt.transform.schedule.program import ScheduledAccess, ScheduledProgram
    from polyopt.transform.schedule.storage import Scratch

Structure = tuple[object, ...]
#: finds the last write before each read, as ``last_writes`` does
Search = Callable[[UnionMap, UnionMap, UnionMap], "FoundFlow"]
#: isl operations that a proof may take before it answers 'not decided': about ten seconds, where
#: the proof of a dozen stages takes one in twenty of them
DEFAULT_BUDGET = 20_000_000


@dataclass(frozen=True)
class Proof:
    """What was shown of a plan. It exists only for plans that are legal."""

    obligations: tuple[Obligation, ...]

    def __str__(self) -> str:
        """One line per obligation."""
        lines = ["proved: the plan's dataflow is the source's"]
        lines += [f"  {o.name:<12} {o.detail}" for o in self.obligations]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from polyopt.explain.jupyter import proof_html

        return proof_html(self)


@dataclass(frozen=True, eq=False)
class Flow:
    """Value-based flow of a program, over the events of its source."""

    program: ScheduledProgram
    #: { R[d] -> R[d, x] } the reads of arrays that something writes, those of a copy and array as
    #: one event and apart, and the live-out reads
    reads: UnionMap
    #: { W[d] -> R[d', x] } write event to read event, live-out reads included
    raw: UnionMap
    #: { R[d, x] -> cell } reads whose cell nothing wrote
    no_source: UnionMap
    #: { W[d] -> R[d', x] } the same where the reads of a copy and array are one event
    together: UnionMap
    #: whether each read is known to have a source or none; isl's search may lose some
    is_whole: bool = True

    @property
    def shown(self) -> dict[Structure, bool]:
        """Structures (see ``structure``) whose flow was shown to be this one."""
        return memory(self, "structures")

    @cached_property
    def seen(self) -> UnionMap:
        """``{ P[j] -> [S[i] -> ref[x]] }``: the flow between instances of the source program."""
        names = [t.to_source for t in self.program.reads] + _final_names(self.program)
        writers = union_all(w.to_source.range_factor_domain() for w in self.program.writes)
        flow = self.raw.apply_domain(writers).apply_range(union_all(names))
        # isl's own coalescing of several strides may not only differ by process: it crashes, too
        return union_as_is(coalesced_map(part) for part in maps_of(flow))


def structure(program: ScheduledProgram) -> Structure:
    """What the dataflow of a program depends on: all but names of loops and their marks.

    Parts are told apart by identity, so two programs may differ and still be equal.
    """
    return (
        tuple(program.copies.items()),
        tuple(
            (p.copy, p.positions, tuple((n.name, Same(n.values[p.copy])) for n in p.loops))
            for p in program.places.values()
        ),
        program.stores,
        program.inlined,
        program.watched,
    )


def prove(program: ScheduledProgram, original: Flow, *, operations: int = DEFAULT_BUDGET) -> Proof:
    """Show that ``program`` has the ``original`` flow of its source, or raise what it would break.

    Where the budget of isl operations is spent on a search through all writes at once, another one
    of that size is for a search read by read. Raises the ``IllegalScheduleError`` that fits, with
    witness instances, or ``NotDecidedError`` when both are spent.
    """
    try:
        return _proof(program, original, quick_last_writes, operations)
    except NotDecidedError:
        return _proof(program, original, each_last_writes, operations)


def _proof(program: ScheduledProgram, original: Flow, find: Search, operations: int) -> Proof:
    with budget(operations, "the proof"):
        _check_parts(program, original)
        key = structure(program)
        if key not in original.shown:
            check_room(program)
            check_buffers(program)
            try:
                _check_dataflow(program, original, find)
            except _LostReadError:
                _check_dataflow(program, original, defined_last_writes)
            original.shown[key] = True
        marks = check_marks(program)
        return Proof((*_obligations(program), *marks))


def check(program: ScheduledProgram, original: Flow) -> None:
    """Raise what ``prove`` would, which is not asked where the order of dependences is enough.

    For one plan of many: the one that is compiled is proven.
    """
    with budget(DEFAULT_BUDGET, "the proof"):
        if structure(program) in original.shown or not keeps_order(program):
            prove(program, original)
        else:
            _check_parts(program, original)
            check_marks(program)


def accepts(program: ScheduledProgram, original: Flow) -> bool:
    """Whether ``check`` finds nothing; sooner known than what it is that it would find."""
    try:
        with budget(DEFAULT_BUDGET, "the proof"):
            if keeps_order(program) is False:
                return False
            check(program, original)
    except UserError:
        return False
    return True


def _check_parts(program: ScheduledProgram, original: Flow) -> None:
    check_unrolled(program)
    check_nontemporal(program.scop, program.nontemporal)
    check_copies(program)
    check_operands(program, original)


class _LostReadError(Exception):
    """isl's search has found neither a source nor none for some read."""


def _check_dataflow(program: ScheduledProgram, original: Flow, find: Search) -> None:
    flow, expected = program_flow(program, find), expected_flow(program, original)
    if not flow.is_whole:
        _check_known(flow, flow.reads.range().subtract(expected.range()))
    check_windows(program, flow)
    check_flow(program, flow, expected)
    check_live_in(program, flow)


def _check_known(flow: Flow, reads: UnionSet) -> None:
    """What is known of ``{ R[d, x] }``, of which nothing was found, is that nothing is there."""
    if flow.is_whole or reads.is_subset(flow.no_source.domain()):
        return
    apart = flow.reads.intersect_range(reads)
    with_source = flow.together.intersect_range(apart.domain()).range().apply(apart)
    if not apart.range().is_subset(with_source.union(flow.no_source.domain())):
        raise _LostReadError


def _obligations(program: ScheduledProgram) -> list[Obligation]:
    copies, reads = len(program.copies), len(program.reads)
    result = [
        Obligation("dataflow", f"{reads} read references of {copies} statements have the "
                   "sources that the original program gives them"),
        Obligation("live-out", "every result's last writer is the original one"),
    ]  # fmt: skip
    if program.scratches:
        names = ", ".join(s.name for s in program.scratches)
        result.append(Obligation("storage", f"no live value is overwritten in {names}"))
    return result


def program_flow(program: ScheduledProgram, find: Search = last_writes) -> Flow:
    """Exact value-based flow on the program's own storage, windows taken as unfolded.

    ``check_windows`` shows that folding them changes nothing.
    """
    together, apart = program.reads_together
    written = {tuple_name(w.cells, dim_type.out) for w in program.writes}
    # an array that nothing writes holds what the caller gave: its reads have no source
    together = tuple(t for t in together if t.scratch or t.access.array in written)
    apart = union_as_is([apart, *(elements.identity() for elements in _final_events(program))])
    reads = [(program.flat_cells(t), program.time(t)) for t in together]
    reads += _final_reads(program)
    sinks = union_all(r[0] for r in reads)
    times = union_all([*(r[1] for r in reads), *map(program.time, program.writes)])
    writes = union_all(map(program.flat_cells, program.writes))
    context = program.scop.context
    sinks, writes = (part.intersect_params(context) for part in (sinks, writes))
    found = find(sinks, writes, times)
    raw = through_packs(program, found.pairs.apply_range(apart))
    reads = apart.intersect_domain(sinks.domain())
    without = found.without.apply_domain(apart)
    return Flow(program, reads, raw, without, found.pairs, found.is_whole)


def _live_out(program: ScheduledProgram) -> list[Set]:
    return [
        program.elements[a.name]
        for a in program.scop.arrays
        if a.is_live_out and program.is_watched(a.name)
    ]


def _final_events(program: ScheduledProgram) -> list[Set]:
    """``{ end A[x] }``: a read of every live-out element after everything."""
    return [e.set_tuple_name(f"end:{tuple_name(e)}") for e in _live_out(program)]


def _final_reads(program: ScheduledProgram) -> list[tuple[Map, Map]]:
    """``{ end A[x] -> A[x] }`` and its time: after everything."""
    result: list[tuple[Map, Map]] = []
    last = len(program.tree)
    for elements in _live_out(program):
        reading = elements.identity().set_tuple_name(dim_type.in_, f"end:{tuple_name(elements)}")
        space = reading.domain().get_space()
        time = Map.from_pw_aff(affine_constant(space, last))
        for _ in range(program.time_columns - 1):
            time = time.flat_range_product(Map.from_pw_aff(affine_constant(space, 0)))
        result.append((reading, time.intersect_domain(reading.domain())))
    return result


def _final_names(program: ScheduledProgram) -> list[Map]:
    """``{ end:A[x] -> [end:A[x] -> end[]] }``: final reads stand for themselves."""
    result: list[Map] = []
    for elements in _live_out(program):
        end = elements.set_tuple_name(f"end:{tuple_name(elements)}")
        tag = Map.from_domain(end).set_tuple_name(dim_type.out, "end")
        result.append(end.identity().range_product(tag))
    return result


def expected_flow(program: ScheduledProgram, original: Flow) -> UnionMap:
    """``{ P[j] -> R[d, x] }``: the source's flow, for each read event of the program."""
    to_source = union_as_is([t.to_source for t in program.reads] + _final_names(program))
    return original.seen.apply_range(to_source.reverse()).coalesce()


def check_flow(program: ScheduledProgram, flow: Flow, expected: UnionMap) -> None:
    """Every read event has the writer that the source gives it, and no other."""
    writers = union_all(w.to_source.range_factor_domain() for w in program.writes)
    actual = flow.raw.apply_domain(writers)
    _check_none_missing(program, flow, expected.intersect_range(flow.no_source.domain()))
    # what is quick to see comes first: the source's flow has few pieces, that of tiles many, and
    # few from many takes longer to subtract with each of them
    extra = _elsewhere(actual, expected)
    if extra is not None:
        needed = expected.intersect_range(extra.range().to_union_set())
        _check_none_missing(program, flow, needed.subtract(actual))
        raise extra_value(program, extra)
    _check_none_missing(program, flow, expected.subtract(actual))


def _elsewhere(actual: UnionMap, expected: UnionMap) -> Map | None:
    """``{ P[j] -> R[d, x] }`` of some reads that get another value than the source gives them."""
    for part in maps_of(actual):
        right = expected.extract_map(part.get_space())
        for piece in part.get_basic_maps():
            extra = piece.to_map().subtract(right)
            if not extra.is_empty():
                return extra
    return None


def _check_none_missing(program: ScheduledProgram, flow: Flow, missing: UnionMap) -> None:
    """``missing`` is flow of the source, ``{ P[j] -> R[d, x] }``, that the plan has not."""
    for part in maps_of(missing):
        if not part.is_empty():
            _check_known(flow, part.range().to_union_set())
            raise missing_value(program, flow.raw, part)


def check_windows(program: ScheduledProgram, flow: Flow) -> None:
    """No value in a folded buffer is overwritten before its last read.

    With the flow of the unfolded buffer known, that is all that folding can break: a write of
    another element to the same cell, after the write that a read needs and before that read.
    """
    reads, apart = program.reads_together
    for scratch in program.scratches:
        if not scratch.is_folded:
            continue
        here = [t for t in reads if t.scratch is not None and t.scratch.name == scratch.name]
        into = [
            w for w in program.writes if w.scratch is not None and w.scratch.name == scratch.name
        ]
        if not here or not into or _moves_on(program, scratch, into, here):
            continue
        needed = flow.together.intersect_range(union_all(t.cells for t in here).domain())
        written, read = (union_all(map(program.time, part)) for part in (into, here))
        same_cell = _through(program, into, here, flat=False)
        others = same_cell.subtract(_through(program, into, here, flat=True))
        before = others.intersect(written.lex_lt_union_map(read)).coalesce()
        after = written.lex_lt_union_map(written)
        if needed.apply_range(before.reverse()).intersect(after).is_empty():
            continue
        lost = after.apply_range(before).intersect(needed).apply_range(apart)
        writers = union_all(w.to_source.range_factor_domain() for w in program.writes)
        for part in maps_of(lost.apply_domain(writers)):
            touch = touch_of(program, tuple_name(part, dim_type.out))
            raise overwritten(touch, scratch, witness(program, part, "flow"))


def _moves_on(
    program: ScheduledProgram,
    scratch: Scratch,
    into: Sequence[ScheduledAccess],
    out_of: Sequence[ScheduledAccess],
) -> bool:
    """Whether a window advances monotonically with the loop along which it slides: quick to show.

    Of rows ``r`` read and ``w`` written, ``w < r + fold`` for every write up to the iteration
    that reads, and ``w > r - fold`` for every write from the iteration that writes ``r`` on. So no
    other row of the same remainder is written while ``r`` is kept.
    """
    folded = [d for d, fold in enumerate(scratch.folds) if fold]
    paths = [program.places[touch.host].loops for touch in (*into, *out_of)]
    along = {path[scratch.depth].name if len(path) > scratch.depth else "" for path in paths}
    if len(folded) != 1 or len(along) != 1 or "" in along:
        return False
    written, read = (_rows(program, part, scratch.depth, folded[0]) for part in (into, out_of))
    later = Map.universe(written.get_space().domain().map_from_set())
    for level in range(scratch.depth):
        later = later.equate(dim_type.in_, level, dim_type.out, level)
    later = later.order_le(dim_type.in_, scratch.depth, dim_type.out, scratch.depth)
    rows = written.get_space().range()
    fold = affine_constant(rows, scratch.folds[folded[0]]).as_map()
    beyond = Map.identity(rows.map_from_set()).sum(fold).apply_range(Map.lex_le(rows))
    from_write = written.reverse().apply_range(later)
    ahead = from_write.apply_range(read).reverse()  # { [r] -> [w] }
    behind = from_write.apply_range(written).reverse()  # { [w] -> [r] }
    return ahead.is_disjoint(beyond) and behind.is_disjoint(beyond)


def _rows(
    program: ScheduledProgram, touches: Sequence[ScheduledAccess], depth: int, row: int
) -> Map:
    """``{ [t, v] -> [x_row] }``: at least the rows that accesses reach in an iteration ``v``."""
    parts: list[Map] = []
    for touch in touches:
        inner = touch.prefix.dim(dim_type.out) - depth - 1
        times = touch.prefix.project_out(dim_type.out, depth + 1, inner)
        rank = touch.element.dim(dim_type.out)
        line = touch.element.project_out(dim_type.out, row + 1, rank - row - 1)
        line = line.project_out(dim_type.out, 0, row)
        rows = times.reverse().apply_range(line).intersect_params(program.scop.context)
        parts.append(rows.reset_tuple_id(dim_type.out))
    result = parts[0]
    for part in parts[1:]:
        result = result.union(part)
    return Map.from_basic_map(coalesced_map(result).remove_divs().simple_hull())


def _through(
    program: ScheduledProgram,
    into: Iterable[ScheduledAccess],
    out_of: Iterable[ScheduledAccess],
    *,
    flat: bool,
) -> UnionMap:
    """``{ W[d] -> R[d, x] }``: accesses of the same cell."""
    one, other = (
        union_all(program.flat_cells(t) if flat else t.cells for t in part)
        for part in (into, out_of)
    )
    return one.apply_range(other.reverse())


def check_operands(program: ScheduledProgram, original: Flow) -> None:
    """What is computed in place of an inlined read is the instance whose value it reads."""
    for copy, access, operand in program.inlined_reads:
        known, key = memory(original, "operands"), (operand, copy)
        if key in known:
            continue
        space = access.relation.get_space().domain().from_domain()
        tag = space.add_dims(dim_type.out, access.relation.dim(dim_type.out))
        reads = Map.universe(tag.set_tuple_name(dim_type.out, access.ref)).wrap()
        sources = original.seen.intersect_range(reads.to_union_set()).range_factor_domain()
        at_copy = copy.to_instance.as_map().intersect_domain(copy.domain)
        expected = at_copy.to_union_map().apply_range(sources.reverse())
        actual = operand.by_reader(copy.domain).apply_range(operand.to_instance.as_map())
        if not actual.to_union_map().is_equal(expected):
            message = f"an inlined read of {access.array} would compute another instance"
            raise OrderViolatedError(message, span=access.span)
        known[key] = True


def check_live_in(program: ScheduledProgram, flow: Flow) -> None:
    """A read that nothing in the program feeds reads the caller's array, not a scratch."""
    for part in maps_of(flow.no_source):
        reader = tuple_name(part, dim_type.in_)
        if part.is_empty() or reader.startswith("end:"):
            continue
        touch = touch_of(program, reader)
        if touch.scratch is not None:
            message = f"{touch.access.array} is read from {touch.scratch.name}, which is not filled"
            witnesses = accesses(touch, part.domain())
            hint = "pack() fills a buffer with what the caller gave; store() and fuse() do not"
            raise CoverageError(message, witnesses=witnesses, span=touch.access.span, hint=hint)


def check_room(program: ScheduledProgram) -> None:
    """Every access to a scratch stays within its extents."""
    if all(_outside(program, t) is None for t in (*program.writes, *program.reads_together[0])):
        return
    for touch in (*program.writes, *program.reads):
        outside = _outside(program, touch)
        if outside is not None and touch.scratch is not None:
            raise no_room(program, touch, touch.scratch, outside)


def _outside(program: ScheduledProgram, touch: ScheduledAccess) -> Set | None:
    """``{ R[d, x] }`` of an access that leave its scratch, if any do."""
    known = memory(program.scop, "accesses within their buffers")
    if touch.scratch is None or touch in known:
        return None
    events = touch.element.domain().intersect_params(program.scop.context)
    outside = events.subtract(touch.cells.domain())
    if not outside.is_empty():
        return outside
    known[touch] = True
    return None
