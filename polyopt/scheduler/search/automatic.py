"""Automatic plans: output-driven grouping, tile sizes from the model, vectors, threads.

The search is deterministic. Its result is proven as a whole; a step that the proof refuses is
left out, and so is one that takes more of isl's operations than its budget; a remark says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.codegen.target import target as find_target
from polyopt.errors import IllegalScheduleError, NotDecidedError
from polyopt.isl import budget, exclusive
from polyopt.scheduler.context import SearchContext
from polyopt.scheduler.finishing.aligned_loads import from_whole_vectors
from polyopt.scheduler.finishing.innermost import arrange
from polyopt.scheduler.finishing.interleave_recurrences import chains_together
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.scheduler.queries import is_legal, is_proven
from polyopt.scheduler.search.finish import finishing
from polyopt.scheduler.search.isl_schedule import affine, reordered, scheduled
from polyopt.scheduler.search.limits import SEARCH_BUDGET, take
from polyopt.scheduler.search.scatter import scattered
from polyopt.scheduler.strategies.blocked_factorization import factors
from polyopt.scheduler.strategies.clone_stage import cloned
from polyopt.scheduler.strategies.fuse_reductions import join_spaces
from polyopt.scheduler.strategies.inline import inline_cheap
from polyopt.scheduler.strategies.matmul import contractions
from polyopt.scheduler.strategies.overlapped_tiles import group
from polyopt.scheduler.strategies.register_tiles import register_tiles, tileable
from polyopt.scheduler.strategies.separable import in_passes, refused, stored
from polyopt.scheduler.strategies.sliding_window import pipelines
from polyopt.scheduler.strategies.tile_producers import pieces
from polyopt.scheduler.strategies.time_tiles import time_tiles
from polyopt.scheduler.strategies.transpose_tiles import across, transposes
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.schedule.tree import loops_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Scop
    from polyopt.isl import OperationLimit
    from polyopt.scheduler.context import Step

__all__ = ["affine", "auto"]


@checks_arguments
@exclusive()
def auto(
    scop: Scop,
    *,
    target: str | Target = "native",
    sizes: Mapping[str, int] | None = None,
    tile: bool = True,
    fusion: str = "output",
    reassociate: bool = False,
    operations: int = SEARCH_BUDGET,
) -> Plan:
    """A fast plan for a program, with no schedule written.

    Producers are inlined, or fused into tiles of what reads them, where the cost model says that
    it pays; loops without dependences become vector loops and are shared by threads. The same
    program, target and sizes always give the same plan. ``plan.explain()`` says why it is so,
    ``plan.script`` is the same plan as moves::

        plan = po.auto(scop, sizes={"H": 2160, "W": 3840})

    ``sizes`` are the parameter values to be fast for; the plan holds for all. ``target`` is
    ``"native"``, ``"generic"``, ``"avx2"``, ``"avx512"``, ``"neon"``, or a ``Target``. Without
    ``tile`` loops are fused, marked and shared, but neither cut into strips nor into blocks.

    ``fusion`` is ``"output"``, by what the results need, or one of isl's heuristics, whose order
    is then taken whatever it costs: ``"min"``, ``"smart"``, ``"max"``, ``"hybrid"`` (see
    ``Plan.reschedule``).

    With ``reassociate`` floating sums may be added up in any order: they become vector loops, or
    are shared by threads in blocks. Results differ from the source's by rounding, and are the
    same for each number of threads. The proof names them.

    ``operations`` bounds what isl does in the search, the same on every machine: a step that finds
    none left leaves the plan as it was, and remarks say so. The last proof has its own budget, and
    a plan that it does not accept gives way to the source's order, as an order of isl's does that
    is not decided.

    Raises ``InvalidOptionError`` for an unknown target, size or heuristic, ``OutOfBoundsError`` or
    ``UninitializedError`` for a program that leaves its arrays or reads what nothing wrote.
    """
    machine = find_target(target) if isinstance(target, str) else target
    start = replace(Plan(scop), checked=False)
    numbers = assumed_sizes(scop, sizes)
    open_sizes = frozenset(scop.params) - frozenset(sizes or ())
    model = SearchContext(machine, numbers, open_sizes, reassociate=reassociate)
    allowed = budget(operations, "the search")
    if fusion != "output":
        plan = scheduled(start, fusion, model, allowed, tile=tile)
        return replace(plan, checked=True)
    plan = _best(start, model, allowed, tile=tile)
    if reassociate:
        in_order = _best(start, replace(model, reassociate=False), allowed, tile=tile)
        plan = _kept_in_registers(plan, in_order)
    return replace(plan, checked=True, remarks=_once(plan.remarks))


def _best(start: Plan, model: SearchContext, allowed: OperationLimit, *, tile: bool) -> Plan:
    """The plan of the program with arrays added where that pays; its remarks say why."""
    if not tile:
        return _searched(start, model, allowed, tile=False)
    with allowed:
        again, said = take(lambda p: cloned(p, model), start)
        passes, more = take(in_passes, again)
    plan = _searched(passes, model, allowed, tile=True)
    if passes is not again and stored(plan, model):
        plan, more = _searched(again, model, allowed, tile=True), refused(more)
    return replace(plan, remarks=(*said, *more, *plan.remarks))


def _searched(start: Plan, model: SearchContext, allowed: OperationLimit, *, tile: bool) -> Plan:
    """The plan in the source's order, one of isl's, or with updates scattered, whichever is the
    better one, proven."""
    with allowed:
        plan = _Search(model, tile).run(start)
    if not is_proven(plan):
        with allowed:
            plan = _Search(replace(model, cautious=True), tile).run(start)
    if tile:
        with allowed:
            plan, said = take(lambda p: (reordered(p, start, model), ()), plan)
        plan = replace(plan, remarks=(*plan.remarks, *said))
        plan = scattered(
            plan, start, model, allowed, lambda p: _searched(p, model, allowed, tile=True)
        )
    return plan


def _kept_in_registers(plan: Plan, ordered: Plan) -> Plan:
    """The plan whose sums are in any order, or that which keeps theirs, if it alone has blocks in
    registers: these load a value for several sums, and lanes for one."""
    in_blocks = [
        any(loop.mark == "register_tile" for loop in loops_of(p.program.tree))
        for p in (plan, ordered)
    ]
    if in_blocks != [False, True]:
        return plan
    reason = "blocks of sums in registers, in their order, load less than sums in lanes"
    return replace(
        ordered, remarks=(Remark("refused", "reassociate", "all", reason), *ordered.remarks)
    )


def _once(remarks: tuple[Remark, ...]) -> tuple[Remark, ...]:
    """Without what is said again: of a search that is spent, each later step says the same."""
    return tuple({repr(r): r for r in remarks}.values())


@dataclass(frozen=True)
class _Search:
    """The stages of the search.

    A proof takes longer than any of them. A first search therefore takes every step to be legal,
    and what it ends with is proven; only where that fails, a cautious one proves each step.
    """

    model: SearchContext
    tile: bool

    def run(self, plan: Plan) -> Plan:
        """The plan that the search ends with, its remarks with it."""
        numbers = self.model.sizes
        in_time, remarks = take(self._in_time, plan) if self.tile else (plan, ())
        if in_time is not plan:
            return replace(in_time, remarks=remarks)
        tilings: list[Step] = [
            lambda p: factors(p, numbers),
            lambda p: contractions(p, self.model.target, numbers),
            lambda p: register_tiles(p, self.model.target, numbers),
            lambda p: transposes(p, self.model.target, operands=True),
            lambda p: pipelines(p, self.model),
            lambda p: group(p, self.model),
            lambda p: transposes(p, self.model.target),
            lambda p: pieces(p, self.model),
        ]
        steps: list[Step] = [
            self._inline_cheap,
            lambda p: join_spaces(p, self._is_legal),
            *(tilings if self.tile else []),
            *finishing(self.model, self._is_legal),
        ]
        for step in steps:
            plan, said = self._take(step, plan)
            remarks += said
        return replace(plan, remarks=remarks)

    def _inline_cheap(self, plan: Plan) -> tuple[Plan, tuple[Remark, ...]]:
        """Producers inlined where that pays."""
        if not self.tile:
            return inline_cheap(plan)
        target, numbers = self.model.target, self.model.sizes
        return inline_cheap(
            plan,
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
        found, more = chains_together(found, numbers, is_legal)
        found, near = from_whole_vectors(found, self.model)
        return found, (*remarks, *said, *more, *near)

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
