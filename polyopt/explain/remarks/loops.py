"""Remarks on the loops of a plan: what runs in parallel or in vectors, and what forbids it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.errors import IllegalScheduleError, NotDecidedError
from polyopt.isl import budget
from polyopt.scheduler.model.instances import trips
from polyopt.transform.legality.parallel import check_loop, shared_sums
from polyopt.transform.schedule.query import path_to
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of, with_loop
from polyopt.transform.source.scatter_updates import may_scatter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.ir.scop import Statement
    from polyopt.transform.plan import Plan

#: isl operations for the dependences of one loop
BUDGET = 20_000_000
_MOVES = {
    "parallel": "parallelize", "vector": "vectorize", "unroll": "unroll",
    "register_tile": "register_tile",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class LoopExplainer:
    """Remarks on the loops of one plan at given sizes."""

    plan: Plan
    sizes: Mapping[str, int]

    def all(self) -> Iterator[Remark]:
        """At least one remark per loop, outer loops first."""
        for loop in loops_of(self.plan.program.tree):
            yield from self.remarks(loop)

    def remarks(self, loop: PlanLoop) -> Iterator[Remark]:
        """How a loop runs, or what it could do and what forbids it."""
        numbers = {"iterations": trips(self.plan.program, loop, self.sizes)}
        if loop.mark:
            yield self._marked(loop, numbers)
            return
        yield self._parallel(loop, numbers)
        if not any(isinstance(child, PlanLoop) for child in loop.body):
            yield self._vector(loop, numbers)

    def _marked(self, loop: PlanLoop, numbers: dict[str, float]) -> Remark:
        move = _MOVES[loop.mark]
        usual = {
            "parallel": "its iterations share no element that one of them writes",
            "vector": "iterations that run together share no element that one of them writes",
            "unroll": "unrolling keeps the order",
            "register_tile": "what its iterations add up stays in registers from first to last",
        }[loop.mark]
        shared = ", ".join(sorted(shared_sums(self.plan.program, loop)))
        if shared:
            usual = f"its iterations share sums alone, and each has its own of {shared}"
        if loop.width:
            numbers = {**numbers, "width": float(loop.width)}
        return Remark("applied", move, loop.name, self._given("applied", move, loop) or usual,
                      numbers=numbers)  # fmt: skip

    def _parallel(self, loop: PlanLoop, numbers: dict[str, float]) -> Remark:
        around = [node.name for node in path_to(self.plan.program, loop.name)
                  if node.mark == "parallel" and node.name != loop.name]  # fmt: skip
        if around:
            reason = f"threads share a loop around it already: {around[0]}"
            return Remark("not considered", "parallelize", loop.name, reason, numbers=numbers)
        free = "its iterations are independent"
        return self._checked(loop, "parallel", free, numbers)

    def _vector(self, loop: PlanLoop, numbers: dict[str, float]) -> Remark:
        free = "its iterations are independent"
        return self._checked(loop, "vector", free, numbers)

    def _checked(self, loop: PlanLoop, mark: str, free: str, numbers: dict[str, float]) -> Remark:
        """Whether a loop may have a mark; the dependence that forbids it where not."""
        move = _MOVES[mark]
        program = self.plan.program
        marked = replace(program, tree=with_loop(program.tree, loop.name, mark=mark))
        try:
            with budget(BUDGET, f"the dependences of {loop.name}"):
                check_loop(marked, next(n for n in loops_of(marked.tree) if n.name == loop.name))
        except IllegalScheduleError as error:
            return Remark(
                "refused", move, loop.name, error.diagnostic.message, numbers=numbers,
                witnesses=error.witnesses, code=error.code, hint=self._advice(loop, error),
                span=error.diagnostic.span,
            )  # fmt: skip
        except NotDecidedError as error:
            return Remark("unknown", move, loop.name, error.diagnostic.message, numbers=numbers,
                          code=error.code)  # fmt: skip
        given = self._given("refused", move, loop)
        kind = "refused" if given else "not considered"
        return Remark(kind, move, loop.name, given or free, numbers=numbers)

    def _advice(self, loop: PlanLoop, error: IllegalScheduleError) -> str:
        statements = [self.plan.program.copies[name].statement for name in copies_in(loop)]
        ends = {w.source[0] for w in error.witnesses[:1]} | {w.sink[0] for w in error.witnesses[:1]}
        sums = [s for s in statements if {s.name} == ends and _is_sum(s)]
        if sums:
            if not any(s.value.type.is_float for s in sums):
                return self._chain(sums[0])
            told = "it is a reduction: another order would round differently"
            hint = error.diagnostic.hint
            return f"{told}; {hint}" if "reassociate(" in hint else told
        return error.diagnostic.hint

    def _chain(self, statement: Statement) -> str:
        """What to do about updates of integers one after the other."""
        told = "it is a chain of updates of one element"
        try:
            with budget(BUDGET, f"whether {statement.name} may be scattered"):
                may = may_scatter(self.plan.scop, statement.name)
        except NotDecidedError:
            may = False
        return f"{told}: scatter_updates({statement.name!r}) makes rows of it" if may else told

    def _given(self, kind: str, move: str, loop: PlanLoop) -> str:
        """The reason that whoever chose the plan gave."""
        return next(
            (r.reason for r in self.plan.remarks
             if r.kind == kind and r.move == move and r.subject == loop.name),
            "",
        )  # fmt: skip


def _is_sum(statement: Statement) -> bool:
    """Whether a statement is an associative update, what is added not being read from its array."""
    own = [read for read in statement.reads if read.array == statement.array]
    return statement.reduction is not None and len(own) == 1
