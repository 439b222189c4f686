"""Beam search over strategies: each may be taken or left, and the time model keeps what it likes.

The beam starts with the program as it is. A strategy makes of each plan in it another one; both
stay while they are among the best few, by the time that the model predicts. The first plan of the
beam is the one that takes all that strategies propose: it is kept whatever the model says, and what
it ends with is the choice unless another is clearly better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.errors import IllegalScheduleError, NotDecidedError
from polyopt.scheduler.context import MOST_STATEMENTS
from polyopt.scheduler.finishing.aligned_loads import from_whole_vectors
from polyopt.scheduler.finishing.innermost import arrange
from polyopt.scheduler.finishing.interleave_recurrences import chains_together
from polyopt.scheduler.model.objective import clearly_better, predicted
from polyopt.scheduler.queries import is_legal
from polyopt.scheduler.search.finish import finishing
from polyopt.scheduler.search.limits import take
from polyopt.scheduler.strategies.blocked_factorization import factors
from polyopt.scheduler.strategies.contractions.chains import contraction_chains
from polyopt.scheduler.strategies.contractions.matmul import contractions
from polyopt.scheduler.strategies.contractions.register_tiles import register_tiles, tileable
from polyopt.scheduler.strategies.contractions.strips import contraction_strips
from polyopt.scheduler.strategies.inline import inline_cheap
from polyopt.scheduler.strategies.loop_fusion import join_siblings, join_spaces
from polyopt.scheduler.strategies.overlapped_tiles import group
from polyopt.scheduler.strategies.sliding_window import pipelines
from polyopt.scheduler.strategies.tile_producers import pieces
from polyopt.scheduler.strategies.time_tiles import time_tiles
from polyopt.scheduler.strategies.transpose_tiles import across, transposes
from polyopt.scheduler.threads.parallelize import parallelize_outer
from polyopt.transform.schedule.remark import Remark, refusal

if TYPE_CHECKING:
    from polyopt.scheduler.context import SearchContext, Step
    from polyopt.transform.plan import Plan

#: plans in the beam
WIDTH = 2


@dataclass(frozen=True)
class Beam:
    """The stages of the search.

    A proof takes longer than any of them. A first search therefore takes every step to be legal,
    and what it ends with is proven; only where that fails, a cautious one proves each step.
    """

    model: SearchContext
    tile: bool

    def run(self, plan: Plan) -> tuple[Plan, ...]:
        """The plans that the search ends with, their remarks with them; the one that takes all
        that is proposed is the first."""
        in_time, remarks = take(self._in_time, plan) if self.tile else (plan, ())
        if in_time is not plan:
            return (replace(in_time, remarks=remarks),)
        in_strips, said = take(self._in_strips, plan) if self.tile else (plan, ())
        remarks = (*remarks, *said)
        if in_strips is not plan:
            return (replace(in_strips, remarks=remarks),)
        beam = (replace(plan, remarks=remarks),)
        width = WIDTH if len(plan.scop.statements) <= MOST_STATEMENTS else 1
        steps: tuple[Step, ...] = (
            self._inline_cheap,
            lambda p: join_spaces(p, self._is_legal),
            *(self._tilings() if self.tile else ()),
        )
        for step in steps:
            beam = self._stepped(step, beam, width)
        return tuple(self._finished(plan) for plan in clearly_better(beam, self.model))

    def in_time(self, plan: Plan) -> Plan | None:
        """The plan in tiles over steps in time, which ``run`` ends with where there is one."""
        found, remarks = take(self._in_time, plan)
        return None if found is plan else replace(found, remarks=remarks)

    def _tilings(self) -> tuple[Step, ...]:
        numbers, target = self.model.sizes, self.model.target
        return (
            lambda p: factors(p, numbers),
            lambda p: contraction_chains(p, target, numbers),
            lambda p: contractions(p, target, numbers),
            lambda p: register_tiles(p, target, numbers),
            lambda p: transposes(p, target, operands=True),
            lambda p: pipelines(p, self.model),
            lambda p: group(p, self.model),
            lambda p: transposes(p, target),
            lambda p: pieces(p, self.model),
            lambda p: join_siblings(p, self.model),
        )

    def _stepped(self, step: Step, beam: tuple[Plan, ...], width: int) -> tuple[Plan, ...]:
        """The beam after a strategy: with its proposals, and without them where that may pay."""
        taken: list[Plan] = []
        left: list[Plan] = []
        for plan in beam:
            changed, said = self._take(step, plan)
            after = replace(changed, remarks=(*plan.remarks, *said))
            taken.append(after)
            if changed is not plan:
                left.append(plan)
        first, *others = taken
        others += left
        room = 0 if self.model.cautious else width - 1
        if len(others) > room > 0:
            others.sort(key=lambda p: predicted(p, self.model, threads=1))
        return (first, *others[:room])

    def _finished(self, plan: Plan) -> Plan:
        """A plan with vectors and threads."""
        for step in finishing(self.model, self._is_legal):
            changed, said = self._take(step, plan)
            plan = replace(changed, remarks=(*plan.remarks, *said))
        return plan

    def _inline_cheap(self, plan: Plan) -> tuple[Plan, tuple[Remark, ...]]:
        """Producers inlined where that pays."""
        if not self.tile:
            return inline_cheap(plan, self.model)
        target, numbers = self.model.target, self.model.sizes
        return inline_cheap(
            plan,
            self.model,
            lambda program: tileable(program, target, numbers),
            lambda program: across(program, target),
        )

    def _in_time(self, plan: Plan) -> tuple[Plan, tuple[Remark, ...]]:
        """Tiles over steps in time, where there are some."""
        numbers = self.model.sizes
        found, remarks = time_tiles(plan, self.model.target, numbers)
        if found is plan:
            return plan, remarks
        found, said = arrange(found, self.model, self._is_legal)
        found, more = chains_together(found, self.model.target, numbers, is_legal)
        found, near = from_whole_vectors(found, self.model)
        found, shared = parallelize_outer(found, self.model)
        return found, (*remarks, *said, *more, *near, *shared)

    def _in_strips(self, plan: Plan) -> tuple[Plan, tuple[Remark, ...]]:
        """A sum and its transformations in strips, where it has some."""
        found, remarks = contraction_strips(plan, self.model.target, self.model.sizes)
        if found is plan:
            return plan, remarks
        found, shared = parallelize_outer(found, self.model)
        return found, (*remarks, *shared)

    def _take(self, step: Step, plan: Plan) -> tuple[Plan, tuple[Remark, ...]]:
        """One step of the search; a cautious one keeps it only where the proof accepts it."""
        changed, said = take(step, plan)
        if changed is plan or not self.model.cautious:
            return changed, said
        try:
            changed.prove()
        except (IllegalScheduleError, NotDecidedError) as error:
            taken_back = refusal(said[0].move if said else "", "all", error)
            return plan, (*(r for r in said if r.kind != "applied"), taken_back)
        return changed, said

    def _is_legal(self, plan: Plan) -> bool:
        return not self.model.cautious or is_legal(plan)
