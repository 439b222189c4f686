"""Remarks on producer-consumer pairs: where each producer is computed, what that costs, and what
the other choices would cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import Estimate
from polyopt.errors import (
    IllegalScheduleError,
    NotDecidedError,
    NotFusableError,
    PolyoptError,
    UserError,
)
from polyopt.scheduler.model.cost import Cost, cost
from polyopt.scheduler.model.instances import evaluations
from polyopt.scheduler.model.symbolic import block_size
from polyopt.transform.legality.proof import prove
from polyopt.transform.schedule.identity import initial_program
from polyopt.transform.schedule.printer import describe
from polyopt.transform.schedule.program import changed_arrays
from polyopt.transform.schedule.query import loops_around
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import copies_in
from polyopt.transform.storage.fuse import fuse_at
from polyopt.transform.storage.inline import inline

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: isl operations for the proof of one alternative; more, and it counts as not decided
BUDGET = 2_000_000


@dataclass(frozen=True)
class Pair:
    """An array that one computation space writes and another reads."""

    producer: str
    consumer: str


def pairs_of(plan: Plan) -> tuple[Pair, ...]:
    """Every producer-consumer pair of the program, in textual order of the consumers."""
    written = {s.array for s in plan.scop.statements}
    found = [
        Pair(access.array, statement.array)
        for statement in plan.scop.statements
        for access in statement.reads
        if access.array in written and access.array != statement.array
    ]
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, eq=False)
class PairExplainer:
    """Remarks on the pairs of one plan at given sizes."""

    plan: Plan
    sizes: Mapping[str, int]

    @cached_property
    def bill(self) -> Cost:
        """The plan's cost."""
        return cost(self.plan.program, self.sizes)

    def remarks(self, pair: Pair) -> Iterator[Remark]:
        """What was done with a pair, then each other choice."""
        done = self._done(pair)
        yield done
        if done.move != "inline":
            yield self._inlined(pair)
        if done.move == "root":
            yield self._fused(pair)
        else:
            yield self._in_full(pair)

    # -- what the plan does -------------------------------------------------------------------

    def _done(self, pair: Pair) -> Remark:
        numbers = self._instances(pair) | self._gain(pair, self.plan.program, self.bill)
        span = self.plan.scop.array(pair.producer).span
        if pair.producer in self.plan.program.inlined:
            reason = self._given("applied", "inline", pair) or "computed at each read, never stored"
            return Remark("applied", "inline", pair.producer, reason, pair.consumer, numbers,
                          span=span)  # fmt: skip
        loop = self._shared_loop(pair)
        if loop is not None:
            given = self._given("applied", "fuse", pair)
            where = f"inside {loop.name}, {self._storage(pair)}"
            reason = f"{given or 'computed where it is read'}: {where}"
            return Remark("applied", "fuse", pair.producer, reason, pair.consumer, numbers,
                          span=span)  # fmt: skip
        reason = "a nest of its own, its array stored in full"
        return Remark("not considered" if not self._was_weighed(pair) else "applied", "root",
                      pair.producer, reason, pair.consumer, numbers, span=span)  # fmt: skip

    def _instances(self, pair: Pair) -> dict[str, float]:
        """Instances of both sides in the source; updates of accumulators apart."""
        result: dict[str, float] = {}
        for side, array in (("producer", pair.producer), ("consumer", pair.consumer)):
            names = [s.name for s in self.plan.scop.statements if s.array == array]
            result[f"{side} instances"] = self._in_source(names[:1])
            updates = self._in_source(names[1:])
            if updates:
                result[f"{side} updates"] = updates
        return result

    def _in_source(self, names: list[str]) -> float:
        """How many instances of statements the source has."""
        total = sum(self.bill.source_instances[name] for name in names)
        return total if self.bill.source_estimated.isdisjoint(names) else Estimate(total)

    def _gain(self, pair: Pair, program: ScheduledProgram, bill: Cost) -> dict[str, float]:
        """Recompute, bytes saved and scratch of the producer's array in a program, by its bill."""
        array = pair.producer
        buffers = {scratch.name for scratch in program.buffers(array)}
        before = bill.source_moved["memory"].get(array, 0)
        return {
            "computed": bill.repeated.get(array, 0.0),
            "bytes saved": before - bill.moved["memory"].get(array, 0),
            "scratch bytes": sum(s.bytes for s in bill.scratch if s.name in buffers),
        }

    def _readers(self, pair: Pair) -> set[str]:
        """The copies in the tree that do the consumer's reads, itself or where it is inlined."""
        refs = {
            access.ref
            for statement in self.plan.scop.statements
            if statement.array == pair.consumer
            for access in statement.reads
            if access.array == pair.producer
        }
        return {host for host, access in self.plan.program.loads if access.ref in refs}

    def _shared_loop(self, pair: Pair) -> PlanLoop | None:
        """The innermost loop around both sides."""
        program = self.plan.program
        makers = [program.places[name].loops for name in program.makers(pair.producer)]
        shared: list[PlanLoop] = []
        for reader in self._readers(pair):
            for maker in makers:
                common = [a for a, b in zip(maker, program.places[reader].loops, strict=False)
                          if a.name == b.name]  # fmt: skip
                shared = max(shared, common, key=len)
        return shared[-1] if shared else None

    def _storage(self, pair: Pair) -> str:
        found = self.plan.program.buffers(pair.producer)
        if not found:
            return "its array stored in full"
        return f"kept in {describe(found[0])}" + (f" per {found[0].at}" if found[0].at else "")

    def _given(self, kind: str, move: str, pair: Pair) -> str:
        """The reason that whoever chose the plan gave: of the pair itself, else of the producer and
        the result whose nest the consumer joined."""
        found = {
            remark.consumer: remark.reason
            for remark in reversed(self.plan.remarks)
            if remark.subject == pair.producer and (remark.kind, remark.move) == (kind, move)
        }
        own = found.get(pair.consumer) or found.get("")
        return own or next((r for c, r in found.items() if c in self._homes(pair.consumer)), "")

    def _homes(self, array: str) -> frozenset[str]:
        """The results in whose nests an array's values are computed, itself or its readers."""
        program = self.plan.program
        return frozenset(
            program.copies[other].statement.array
            for name in self._hosts(array)
            for node in program.tree
            if name in copies_in(node)
            for other in copies_in(node)
            if not program.copies[other].outer
        )

    def _hosts(self, array: str) -> Collection[str]:
        """The copies in the tree that compute an array's values."""
        program = self.plan.program
        if array in program.inlined:
            operands = (o for _, _, o in program.inlined_reads if o.statement.array == array)
            return {operand.name.partition("/")[0] for operand in operands}
        return program.makers(array)

    def _was_weighed(self, pair: Pair) -> bool:
        return any(
            r.subject == pair.producer and r.consumer in {pair.consumer, ""}
            for r in self.plan.remarks
        )

    # -- what it does not do ------------------------------------------------------------------

    def _inlined(self, pair: Pair) -> Remark:
        """Computing the producer at its reads, all else as in the source."""
        array = pair.producer
        if array not in self._inlinings:
            self._inlinings[array] = self._judged("inline", array, lambda: self._inlining(array))
        return self._beside(pair, self._inlinings[array])

    @cached_property
    def _inlinings(self) -> dict[str, Remark]:
        """What inlining alone does, by array: it is the same for every consumer."""
        return {}

    @cached_property
    def _source(self) -> ScheduledProgram:
        return replace(initial_program(self.plan.scop), flow=self.plan.original.seen)

    def _inlining(self, array: str) -> Mapping[str, float]:
        program = inline(self._source, array)
        if not _operands_last(self._source, array):
            prove(program, self.plan.original, operations=BUDGET)
        statement = next(s.name for s in self.plan.scop.statements if s.array == array)
        once = self.bill.source_instances[statement]
        number = evaluations(program, array, self.sizes)
        times = number.value / once if once else 0.0
        return {
            "computed": times if number.is_exact else Estimate(times),
            "bytes saved": self.bill.source_moved["memory"].get(array, 0),
            "scratch bytes": 0,
        }

    def _fused(self, pair: Pair) -> Remark:
        """Fusing into the consumer's loop where that moves the fewest bytes."""
        place = ""

        def change() -> Mapping[str, float]:
            nonlocal place
            error: PolyoptError = NotFusableError(self._no_loop(pair))
            found: list[ScheduledProgram] = []
            for loop in self._consumer_loops(pair):
                try:
                    found.append(fuse_at(self.plan.program, pair.producer, loop))
                except UserError as refused:
                    error = refused
            if not found:
                raise error
            program = min(found, key=self._weight) if len(found) > 1 else found[0]
            watched = changed_arrays(self.plan.program, program)
            prove(replace(program, watched=watched), self.plan.original, operations=BUDGET)
            place = _place(program, pair)
            return self._gain(pair, program, cost(program, self.sizes))

        judged = self._judged("fuse", pair.producer, change)
        if judged.kind == "not considered":
            judged = replace(judged, reason=judged.reason + place)
        return self._beside(pair, judged)

    def _no_loop(self, pair: Pair) -> str:
        program = self.plan.program
        copies = program.makers(pair.consumer)
        if len({program.places[name].positions[0] for name in copies}) > 1:
            return f"{pair.consumer} runs in several nests, and no loop is around all of it"
        return f"{pair.consumer} has no loop to fuse into"

    def _consumer_loops(self, pair: Pair) -> tuple[str, ...]:
        """The loops around the consumer, or around where it is inlined."""
        program = self.plan.program
        space = pair.consumer
        if space in program.inlined:
            space = program.copies[min(self._readers(pair))].statement.array
        around = loops_around(program, space)
        blocks = [loop.name for loop in around if _is_block(loop)]
        return (blocks[-1],) if blocks else tuple(loop.name for loop in around)

    def _weight(self, program: ScheduledProgram) -> tuple[int, float, int]:
        found = cost(program, self.sizes)
        return found.bytes_moved, round(found.work_repeated, 2), found.scratch_bytes

    def _in_full(self, pair: Pair) -> Remark:
        """Keeping the array in full, a nest of its own."""
        bill = self.bill
        now = bill.moved["memory"].get(pair.producer, 0)
        more = bill.source_moved["memory"].get(pair.producer, 0) - now
        numbers = {"computed": 1.0, "more bytes moved": float(more), "scratch bytes": 0.0}
        usual = "its array would pass through memory" if more > 0 else "its array would fit a cache"
        reason = self._given("refused", "root", pair) or usual
        return Remark("refused" if more > 0 else "not considered", "root", pair.producer, reason,
                      pair.consumer, numbers)  # fmt: skip

    def _judged(self, move: str, array: str, change: Callable[[], Mapping[str, float]]) -> Remark:
        """What a move would bring by its numbers, or why it would be illegal."""
        try:
            numbers = change()
        except IllegalScheduleError as error:
            return Remark(
                "refused", move, array, error.diagnostic.message,
                witnesses=error.witnesses, code=error.code, hint=error.diagnostic.hint,
                span=error.diagnostic.span,
            )  # fmt: skip
        except NotDecidedError as error:
            return Remark("unknown", move, array, error.diagnostic.message, code=error.code)
        except UserError as error:
            return Remark("refused", move, array, error.diagnostic.message, code=error.code,
                          hint=error.diagnostic.hint)  # fmt: skip
        return Remark("not considered", move, array, "it would be legal", numbers=numbers)

    def _beside(self, pair: Pair, judged: Remark) -> Remark:
        """A judgement as one on a pair, with the reason of whoever chose the plan, if any."""
        given = self._given("refused", judged.move, pair)
        if given and judged.kind == "not considered":
            judged = replace(judged, kind="refused", reason=given)
        return replace(judged, consumer=pair.consumer)


def _operands_last(program: ScheduledProgram, array: str) -> bool:
    """Whether no nest from the array's own on writes what its value is computed from.

    Then the value is the same wherever it is computed later: inlining it needs no proof.
    """
    (name,) = program.makers(array)
    own = program.places[name].positions[0]
    read = {access.array for access in program.copies[name].statement.reads}
    return all(
        place.positions[0] < own
        for other, place in program.places.items()
        if program.copies[other].statement.array in read
    )


def _place(program: ScheduledProgram, pair: Pair) -> str:
    """``: kept in scratch bx[66][512] per out.x_tile``."""
    found = program.buffers(pair.producer)
    return f": kept in {describe(found[-1])} per {found[-1].at}" if found else ""


def _is_block(loop: PlanLoop) -> bool:
    return any(block_size(value) for value in loop.values.values())
