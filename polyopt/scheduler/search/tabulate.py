"""Tabulation: parts of values that few of the loops around them change, weighed against lookups.

    for y: for x: out[y, x] = in[y, x] * exp(c * x)

becomes

    for x: t[x] = exp(c * x)
    for y: for x: out[y, x] = in[y, x] * t[x]

Compilers move what is invariant out of an inner loop, and leave what is invariant in an outer one:
it takes an array. Rows that data choose, and that are resampled for every result that reads them,
are the other case.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.ir.block import Block
from polyopt.ir.expr import Affine, Load, RangeHint
from polyopt.ir.scop import statements_in
from polyopt.isl import dim_type
from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.model.objective import CLEARLY, NOISE
from polyopt.scheduler.model.op_cost import Weights
from polyopt.scheduler.strategies.inline import NARROWEST
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.source.tabulate import parts_of, tables_of, with_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.ir.scop import Scop, Statement
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.source.parts import Loops, Parts

#: share of a statement's work that is worth tables: it shows beside what differs by chance
LEAST = 2 * NOISE


def tabulated(plan: Plan, model: SearchContext) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan of the program whose values are looked up where that is clearly less work; and what
    was decided."""
    remarks: list[Remark] = []
    # readers come first: what only a table needs of a local is seen through it
    waiting = [s.name for s in plan.scop.statements]
    while waiting:
        name = waiting.pop()
        found = [*_choices(plan.scop, plan.scop.statement(name), model)]
        if not found:
            continue
        best = min(found, key=lambda choice: choice.after)
        if best.after < best.before:
            remarks.append(best.remark())
        if not best.pays:
            continue
        known = {s.name for s in plan.scop.statements}
        plan = plan.tabulate(name, *best.loops, data=best.data)
        waiting += [name, *(s.name for s in plan.scop.statements if s.name not in known)]
    return plan, tuple(remarks)


def _choices(scop: Scop, statement: Statement, model: SearchContext) -> Iterator[_Choice]:
    """The ways in which a statement may look values up."""
    if statement.spread or not statement.iterators or not _is_needed(scop, statement):
        return
    top = next(node for node in scop.nest if statement.name in statements_in(node))
    if any(isinstance(scop.statement(name).value, Block) for name in statements_in(top)):
        return  # what blocks do, how often data say, outweighs the rest
    for loops, data in parts_of(scop, statement).choices():
        names = tuple(statement.iterators[k] for k in sorted(loops))
        tables = tables_of(scop, statement, names, data=data)
        if tables and (not data or any(table.key is not None for table in tables)):
            made = with_tables(scop, statement, tables)
            is_all = isinstance(made.statement(statement.name).value, (Load, RangeHint))
            if is_all and not data and scop.array(statement.array).role == "temp":
                continue  # the array is a table itself
            yield _Choice(scop, made, statement.name, names, data, model)


def _is_needed(scop: Scop, statement: Statement) -> bool:
    """Whether what a statement writes is a result, or read by another one."""
    if scop.array(statement.array).role != "temp":
        return True
    return any(a.array == statement.array for s in scop.statements for a in s.reads)


@dataclass(frozen=True, eq=False)
class _Choice:
    """A program, the one with some tables of a statement, and the work in both."""

    scop: Scop
    made: Scop
    name: str
    loops: tuple[str, ...]
    data: bool
    model: SearchContext

    @cached_property
    def weights(self) -> Weights:
        """What operations take."""
        return Weights.of(self.model.target, self.scop)

    @cached_property
    def before(self) -> float:
        """Additions of vectors that the statement takes without tables."""
        return self._work(self.scop, self.scop.statement(self.name))

    @cached_property
    def after(self) -> float:
        """Additions of vectors that it takes with them, what computes them included."""
        return self._rest + self._added

    @cached_property
    def _made(self) -> list[Statement]:
        known = {s.name for s in self.scop.statements}
        return [s for s in self.made.statements if s.name not in known]

    @cached_property
    def _rest(self) -> float:
        """What is left of the statement's own work."""
        tables = frozenset(s.array for s in self._made)
        return self._work(self.made, self.made.statement(self.name), without=tables)

    @cached_property
    def _added(self) -> float:
        """What tables and lookups take."""
        now = self.made.statement(self.name)
        added = self._work(self.made, now) - self._rest
        for statement in self._made:
            stored = self.weights.store + self._traffic(statement.array)
            depth, size = len(statement.iterators), statement.value.type.bytes
            added += stored * self._runs(statement, depth, size)
            added += self._work(self.made, statement)
        return added

    @property
    def pays(self) -> bool:
        """Whether lookups are clearly less work than what they stand for, and this is some."""
        saved = self.before - self.after
        if not self._are_fewer:
            return False
        return self._added < CLEARLY * (self.before - self._rest) and saved > LEAST * self.before

    @property
    def _are_fewer(self) -> bool:
        """Whether tables have clearly fewer elements than the statement has instances that look
        them up."""
        runs = about(self.scop.statement(self.name).domain, self.model.sizes)
        now = self.made.statement(self.name)
        return all(
            about(s.domain, self.model.sizes)
            < CLEARLY * runs * sum(access.array == s.array for access in now.reads)
            for s in self._made
        )

    def remark(self) -> Remark:
        """What is decided, with numbers."""
        over = ", ".join([*self.loops, *(["data"] if self.data else [])])
        numbers = {"operations": self.before, "with lookups": self.after}
        if self.pays:
            kind, reason = "applied", f"parts that depend on {over} alone are looked up"
        else:
            kind, reason = "refused", f"lookups of what depends on {over} alone save too little"
        return Remark(kind, "tabulate", self.name, reason, numbers=numbers)

    def _work(
        self, scop: Scop, statement: Statement, without: frozenset[str] = frozenset()
    ) -> float:
        """Additions of vectors, but for loads from some arrays: what is invariant in inner loops is
        computed outside of them."""
        parts = parts_of(scop, statement)
        each = self._alone if _gathers_narrow(parts) else self._each
        return sum(
            each(parts, number) * self._runs(statement, _depth(loops), node.type.bytes)
            for number, (node, loops) in enumerate(zip(parts.nodes, parts.loops, strict=True))
            if not (isinstance(node, Affine) or (isinstance(node, Load) and node.array in without))
        )

    def _each(self, parts: Parts, number: int) -> float:
        """A part alone: for a vector of results where it is in the innermost loop."""
        node, innermost = parts.nodes[number], len(parts.statement.iterators) - 1
        if innermost not in parts.loops[number]:
            return self._alone(parts, number)
        if isinstance(node, Load) and not _is_gathered(parts, number):
            return self.weights.load + self._traffic(node.array) / 2
        return self.weights.node(node, self.model.target.lanes(node.type.bytes))

    def _alone(self, parts: Parts, number: int) -> float:
        """A part alone, for as many numbers one by one as would be in a vector."""
        node, innermost = parts.nodes[number], len(parts.statement.iterators) - 1
        lanes = self.model.target.lanes(node.type.bytes) if innermost in parts.loops[number] else 1
        simple = 1.0 if isinstance(node, Load) else self.weights.node(node, 1)
        return lanes * simple * self.weights.costs.scalar / self.weights.costs.arithmetic

    def _traffic(self, array: str) -> float:
        """A vector's way to the cache, or the memory, that holds a table, and back."""
        if array in {a.name for a in self.scop.arrays}:
            return 0.0
        held, target = array_bytes(self.made.array(array), self.model.sizes), self.model.target
        if held <= target.l1_bytes:
            return 0.0
        return self.weights.buffer if held <= target.l2_bytes else self.weights.through_memory

    def _runs(self, statement: Statement, depth: int, size: int) -> float:
        """How often a value is computed that depends on so many loops; in all of them, vectors."""
        count = len(statement.iterators)
        around = statement.domain
        if depth < count:
            around = around.project_out(dim_type.set, depth, count - depth)
        lanes = self.model.target.lanes(size) if depth == count else 1
        return about(around, self.model.sizes) / lanes


def _is_gathered(parts: Parts, number: int) -> bool:
    """Whether data choose what each lane of a vector loads."""
    node, innermost = parts.nodes[number], len(parts.statement.iterators) - 1
    return isinstance(node, Load) and any(
        innermost in parts.loops[k] and not isinstance(at, Affine)
        for k, at in zip(parts.operands[number], node.index, strict=True)
    )


def _gathers_narrow(parts: Parts) -> bool:
    """Whether a value takes elements that no instruction set gathers: compilers have no vectors."""
    return any(
        node.type.bytes < NARROWEST and _is_gathered(parts, number)
        for number, node in enumerate(parts.nodes)
    )


def _depth(loops: Loops) -> int:
    return max(loops, default=-1) + 1
