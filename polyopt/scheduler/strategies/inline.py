"""Inlining: which producers are computed where they are read, instead of being stored at all.

From the outputs backwards, a producer is inlined when repeating it costs less than storing and
loading it: the work added per element is (evaluations - 1) times its operations, less a store and
as many loads, where equal operands of one consumer instance count once, also through producers
inlined before, and so do those of a few channels (``finishing/unroll_channels.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.errors import PolyoptError, UserError
from polyopt.ir.block import Block
from polyopt.ir.expr import Affine, Inside, Load, Select, loads, walk
from polyopt.isl import PwMultiAff, coalesced, dim_type, maps_of, tuple_name
from polyopt.scheduler.finishing.unroll_channels import channels
from polyopt.scheduler.model.objective import CLEARLY
from polyopt.scheduler.model.op_cost import Weights
from polyopt.scheduler.strategies.transpose_tiles import tests
from polyopt.scheduler.subscripts import step
from polyopt.transform.schedule.remark import Remark

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from polyopt.ir.expr import Expr
    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import Map, Set
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram

#: bytes of the narrowest elements that vectors gather
NARROWEST = 4
#: no right-hand side grows beyond this many operations
LARGEST = 160.0


def inline_cheap(
    plan: Plan,
    model: SearchContext,
    tileable: Callable[[ScheduledProgram], frozenset[str]] | None = None,
    across: Callable[[ScheduledProgram], frozenset[str]] | None = None,
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with every producer inlined that is cheaper to repeat than to store.

    ``tileable`` names the statements that can keep results in registers: none of them is to lose
    that by what is inlined into it. ``across`` names those that make rows of columns, square by
    square: a reader that tests where it is would gather them.
    """
    scop = plan.scop
    crossing = across(plan.program) if across else frozenset[str]()
    remarks: list[Remark] = []
    weights = Weights.of(model.target, scop)
    reading = ReuseAnalysis(scop, model.sizes)
    cost = {s.name: weights.evaluation(s.value) for s in scop.statements}
    for statement in reversed(scop.statements):
        if not is_candidate(scop, statement):
            continue
        hosts = reading.hosts(statement.array)
        if not hosts:
            continue
        own = cost[statement.name]
        evaluations = reading.evaluations(hosts, together=not _looks_up(statement))
        grown = {name: cost[name] + len(taps) * own for name, taps in hosts.items()}
        added = (evaluations - 1) * own - evaluations * weights.load - weights.store
        if _loses_lanes(scop, statement, hosts, crossing):
            added += (model.target.lanes(4) - 1) * own
        numbers = {"evaluations per element": evaluations, "operations": own, "added": added}
        if own > weights.load and _is_chosen_again(scop, statement):
            reason = "choices would work it out again and again; a register holds it"
            remarks.append(Remark("refused", "inline", statement.array, reason, numbers=numbers))
            continue
        # a reader that is large already, of calls as a rule, may clearly not grow
        too_large = any(size > max(LARGEST, cost[name] / CLEARLY) for name, size in grown.items())
        if added > weights.buffer or too_large:
            reason = "repeating it costs more than storing it"
            remarks.append(Remark("refused", "inline", statement.array, reason, numbers=numbers))
            continue
        try:
            inlined = plan.inline(statement.array)
        except UserError as error:
            remarks.append(_impossible(statement, error))
            continue
        if tileable is not None and any(scop.statement(n).reduction is not None for n in hosts):
            lost = tileable(plan.program) - tileable(inlined.program)
            if lost:
                reason = f"{min(lost)} could not keep a tile of results in registers"
                remarks.append(Remark("refused", "inline", statement.array, reason))
                continue
        plan = inlined
        reading.inlined.add(statement.array)
        cost.update(grown)
        reason = "repeating it costs less than storing it"
        remarks.append(Remark("applied", "inline", statement.array, reason, numbers=numbers))
    return plan, tuple(remarks)


def _impossible(statement: Statement, error: PolyoptError) -> Remark:
    reason = error.diagnostic.message
    return Remark("refused", "inline", statement.array, reason, code=error.code)


def _loses_lanes(
    scop: Scop, statement: Statement, hosts: Mapping[str, list[Map]], crossing: Collection[str]
) -> bool:
    """Whether in some reader it would run, or load its operands, an element at a time."""
    for name, taps in hosts.items():
        host = scop.statement(name)
        if _is_serial(scop, host, taps) or _is_gathered(statement, host, taps):
            return True
        if statement.name in crossing and tests(host):
            return True
    return False


def _is_chosen_again(scop: Scop, statement: Statement) -> bool:
    """Whether a scalar of each iteration is read at several places, some of which data may leave
    out: compilers find equal values only where both are worked out for sure."""
    if scop.array(statement.array).private < len(statement.iterators):
        return False
    found = [lazy for s in scop.statements for lazy in _reads(s.value, statement.array)]
    return len(found) > 1 and any(found)


def _reads(value: Expr, array: str, *, lazy: bool = False) -> Iterator[bool]:
    """For each load of an array, whether a choice by data may leave it out."""
    if isinstance(value, Load) and value.array == array:
        yield lazy
    for position, child in enumerate(value.children):
        chosen = isinstance(value, Select) and position > 0 and not isinstance(value.cond, Inside)
        yield from _reads(child, array, lazy=lazy or chosen)


def _is_serial(scop: Scop, host: Statement, taps: list[Map]) -> bool:
    """Whether a host accumulates along the contiguous dimension of what it reads, runs one by one,
    or looks up elements that vectors cannot gather."""
    if _looks_up_narrow(host) or isinstance(host.value, Block):
        return True
    if host.reduction is None:
        return _is_recurrence(scop, host)
    count = len(host.iterators)
    target = {
        k for k in range(count) for i in host.index if i.form.involves_dims(dim_type.in_, k, 1)
    }
    for tap in taps:
        line = tap.project_out(dim_type.out, 0, max(tap.dim(dim_type.out) - 1, 0))
        line = line.gist_domain(host.domain)
        walked = {k for k in range(count) if line.involves_dims(dim_type.in_, k, 1)}
        if walked and not walked & target:
            return True
    return False


def _is_recurrence(scop: Scop, host: Statement) -> bool:
    """Whether an iteration of a host's innermost loop needs the value of one before."""
    if not host.iterators or not any(read.array == host.array for read in host.reads):
        return False
    space = host.domain.get_space().map_from_set()
    pairs = scop.dependences().flow.extract_map(space)
    for level in range(len(host.iterators) - 1):
        pairs = pairs.equate(dim_type.in_, level, dim_type.out, level)
    return not pairs.is_empty()


def _is_gathered(statement: Statement, host: Statement, taps: list[Map]) -> bool:
    """Whether a host in vectors would load every other element, or fewer, and under a condition
    that differs within a vector: no load of whole vectors does that."""
    if not statement.iterators or not host.index:
        return False
    last = len(statement.iterators) - 1
    masked = any(
        isinstance(node, Inside) and node.where.involves_dims(dim_type.set, last, 1)
        for node in walk(statement.value)
    )
    if not masked:
        return False
    lanes = [
        k
        for k in range(len(host.iterators))
        if host.index[-1].form.involves_dims(dim_type.in_, k, 1)
    ]
    strides = [abs(step(x.index[-1], last) or 0) for x in loads(statement.value) if x.index]
    return any(_moved(tap, k) * max(strides, default=1) > 1 for tap in taps for k in lanes)


def _moved(tap: Map, dim: int) -> int:
    """By how many elements the contiguous dimension of what is read moves with a loop; 0 where
    data decide."""
    if not tap.is_single_valued():
        return 0
    places = PwMultiAff.from_map(tap).get_pw_aff(tap.dim(dim_type.out) - 1)
    moved = [aff.get_coefficient_val(dim_type.in_, dim) for _, aff in places.get_pieces()]
    return max((abs(v.to_python()) for v in moved if v.is_int()), default=0)


def _looks_up_narrow(host: Statement) -> bool:
    """Whether data decide on elements to load of less than 32 bits: no instruction set gathers
    these."""
    return any(load.type.bytes < NARROWEST for load in _looks_up(host))


def _looks_up(statement: Statement) -> list[Load]:
    """The loads whose places data decide: a loop with them is in vectors at most in part."""
    found = loads(statement.value)
    return [load for load in found if not all(isinstance(i, Affine) for i in load.index)]


def is_candidate(scop: Scop, statement: Statement) -> bool:
    """Whether what a statement writes could be computed where it is read instead."""
    array = scop.array(statement.array)
    writers = [s for s in scop.statements if s.array == array.name]
    reads_itself = any(a.array == array.name for a in statement.reads)
    is_block = isinstance(statement.value, Block)
    return array.role == "temp" and len(writers) == 1 and not reads_itself and not is_block


@dataclass(frozen=True, eq=False)
class ReuseAnalysis:
    """Who reads which elements, seen through the arrays that are inlined already."""

    scop: Scop
    sizes: Mapping[str, int]
    inlined: set[str] = field(default_factory=set[str])

    def hosts(self, array: str) -> dict[str, list[Map]]:
        """Per statement that stays: its distinct operands ``{ S[i] -> A[x] }`` of an array."""
        found = {
            s.name: self._operands(s, array)
            for s in self.scop.statements
            if s.array not in self.inlined
        }
        return {name: operands for name, operands in found.items() if operands}

    def _operands(self, statement: Statement, array: str) -> list[Map]:
        result: list[Map] = []
        for access in statement.reads:
            if access.array == array:
                _add(result, access.relation)
            elif access.array in self.inlined:
                producer = next(s for s in self.scop.statements if s.array == access.array)
                link = access.relation.apply_range(producer.write.relation.reverse())
                if not link.is_single_valued():  # an element is written again and again
                    link = self._sources[access.ref]
                for onward in self._operands(producer, array):
                    _add(result, link.apply_range(onward))
        return result

    @cached_property
    def _sources(self) -> dict[str, Map]:
        """Per read ``{ S[i] -> P[j] }``: whose value it is."""
        found: dict[str, Map] = {}
        for part in maps_of(self.scop.dependences().tagged_flow):  # { P[j] -> [S[i] -> ref[]] }
            ref = tuple_name(part.range().unwrap(), dim_type.out)
            found[ref] = part.range_factor_domain().reverse()
        return found

    def evaluations(self, hosts: Mapping[str, list[Map]], *, together: bool) -> float:
        """How often each element that is read would be computed: once for all channels that
        share it where these run ``together``."""
        operands = [operand for taps in hosts.values() for operand in taps]
        events = sum(
            about(
                _once_per_channel(self.scop.statement(name), operand)
                if together
                else operand.domain(),
                self.sizes,
            )
            for name, taps in hosts.items()
            for operand in taps
        )
        elements = operands[0].range()
        for operand in operands[1:]:
            elements = elements.union(operand.range())
        return events / max(about(coalesced(elements), self.sizes), 1)


def _once_per_channel(host: Statement, operand: Map) -> Set:
    """The instances that evaluate an operand: channels that share it run together."""
    instances = operand.domain()
    line = operand.gist_domain(host.domain)
    for k in channels(host):
        if not line.involves_dims(dim_type.in_, k, 1):
            instances = instances.project_out(dim_type.set, k, 1)
    return instances


def _add(known: list[Map], operand: Map) -> None:
    """Keep an operand unless an equal one is known."""
    if not any(operand.is_equal(other) for other in known):
        known.append(operand)
