"""Automatic plans: output-driven grouping, tile sizes from the model, vectors, threads.

The search is deterministic. Its result is proven as a whole; a step that the proof refuses is
left out, and so is one that takes more of isl's operations than its budget; a remark says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.codegen.target import target as find_target
from polyopt.errors import InvalidOptionError
from polyopt.isl import budget, exclusive
from polyopt.scheduler.context import SearchContext
from polyopt.scheduler.model.objective import CLEARLY, predicted_call
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.scheduler.queries import has_register_tiles, is_legal, is_proven
from polyopt.scheduler.search.beam import Beam
from polyopt.scheduler.search.candidates import Candidates, listed, race, winner
from polyopt.scheduler.search.double_buffer import NO_FASTER, taking_turns
from polyopt.scheduler.search.isl_schedule import affine, reordered, scheduled
from polyopt.scheduler.search.limits import SEARCH_BUDGET, take
from polyopt.scheduler.search.scatter import scattered
from polyopt.scheduler.search.tabulate import tabulated
from polyopt.scheduler.strategies.clone_stage import cloned
from polyopt.scheduler.strategies.contractions.register_tiles import may_be_tiled
from polyopt.scheduler.strategies.separable import (
    SLOWER,
    STORED,
    in_passes,
    refused,
    sharing_rows,
    stored,
)
from polyopt.scheduler.threads.wavefronts import wavefronts
from polyopt.transform.plan import Plan
from polyopt.transform.schedule.remark import Remark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Scop
    from polyopt.isl import OperationLimit

__all__ = ["affine", "auto", "candidates"]

#: OpenMP's, of ``OMP_WAIT_POLICY``
WAIT_POLICIES = ("passive", "active")


@checks_arguments
@exclusive()
def auto(  # noqa: PLR0913  (an option each)
    scop: Scop,
    *,
    target: str | Target = "native",
    sizes: Mapping[str, int] | None = None,
    tile: bool = True,
    fusion: str = "output",
    reassociate: bool = False,
    measure: bool = False,
    wait_policy: str = "passive",
    operations: int = SEARCH_BUDGET,
) -> Plan:
    """A fast plan for a program, with no schedule written.

    Producers are inlined, or fused into tiles of what reads them, where the time model says that
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

    With ``reassociate`` floating sums may be added up in any order, as those of integers are
    without: they become vector loops, or are shared by threads in blocks. Results differ from the
    source's by rounding, and are the same for each number of threads. The proof names them.

    ``wait_policy`` is OpenMP's. With ``"passive"`` threads may sleep when a call comes, and only
    loops that take longer than waking them are shared; with ``"active"`` they spin, as between the
    kernels of a network or calls in a loop, and shorter ones are shared, too. It changes what pays
    and nothing else: ``OMP_WAIT_POLICY`` sets what threads do.

    ``operations`` bounds what isl does in the search, the same on every machine: a step that finds
    none left leaves the plan as it was, and remarks say so. The last proof has its own budget, and
    a plan that it does not accept gives way to the source's order, as an order of isl's does that
    is not decided.

    With ``measure`` the best few plans of the search and the source's order are compiled and called
    in turn, on this machine, for a second at the given sizes: the fastest is kept, and the model's
    choice unless another is clearly faster. ``candidates`` shows all of them.

    Raises ``InvalidOptionError`` for an unknown target, size, heuristic or policy, and for plans
    to be measured that are for another machine; ``OutOfBoundsError`` or ``UninitializedError`` for
    a program that leaves its arrays or reads what nothing wrote.
    """
    _check_policy(wait_policy)
    if measure:
        _check_measurable(target)
    asked = _Asked(target, sizes, tile, fusion, reassociate, wait_policy, operations)
    return winner(race(asked.candidates(scop))) if measure else asked.search(Plan(scop), {})


@exclusive()
def continued(
    plan: Plan, *, target: str | Target, sizes: Mapping[str, int], reassociate: bool
) -> Plan:
    """A fast plan that begins with the moves of one, all of which change the program alone.

    Arguments, and what is raised, are those of ``auto``.
    """
    asked = _Asked(target, sizes, True, "output", reassociate, "passive", SEARCH_BUDGET)
    found = asked.search(plan, {})
    return replace(found, remarks=(*plan.remarks, *found.remarks))


@checks_arguments
@exclusive()
def candidates(  # noqa: PLR0913  (an option each)
    scop: Scop,
    *,
    target: str | Target = "native",
    sizes: Mapping[str, int] | None = None,
    tile: bool = True,
    fusion: str = "output",
    reassociate: bool = False,
    measure: bool = False,
    wait_policy: str = "passive",
    operations: int = SEARCH_BUDGET,
) -> Candidates:
    """The plans that ``auto`` chooses from, with predicted times, and measured ones if asked.

    ``measure`` times calls, and each nest in them. The first is its choice, the last the source's
    order. Arguments, and what is raised, are those of ``auto``.
    """
    _check_policy(wait_policy)
    if measure:
        _check_measurable(target)
    asked = _Asked(target, sizes, tile, fusion, reassociate, wait_policy, operations)
    found = asked.candidates(scop)
    return race(found, nests=True) if measure else found


def _check_policy(wait_policy: str) -> None:
    """Raises ``InvalidOptionError`` for a policy that OpenMP has not."""
    if wait_policy not in WAIT_POLICIES:
        message = f"there is no wait policy {wait_policy!r}"
        raise InvalidOptionError(message, hint=f"there are: {', '.join(WAIT_POLICIES)}")


def _check_measurable(target: str | Target) -> None:
    """Raises ``InvalidOptionError`` for a target that need not be this machine."""
    if target != "native":
        message = f"plans for {target!r} cannot be measured: calls run on this machine"
        raise InvalidOptionError(message, hint='leave target out, or give "native"')


@dataclass(frozen=True)
class _Asked:
    """What ``auto`` was asked for."""

    target: str | Target
    sizes: Mapping[str, int] | None
    tile: bool
    fusion: str
    reassociate: bool
    wait_policy: str
    operations: int

    @property
    def machine(self) -> Target:
        return find_target(self.target) if isinstance(self.target, str) else self.target

    def candidates(self, scop: Scop) -> Candidates:
        """The search's choice, what it left, and the source's order."""
        machine, tried = self.machine, dict[str, Plan]()
        chosen = self.search(Plan(scop), tried)
        return listed(chosen, tried, Plan(scop), assumed_sizes(scop, self.sizes), machine)

    def search(self, plan: Plan, tried: dict[str, Plan]) -> Plan:
        """The search's choice from a plan on; ``tried`` gets the plans that it leaves."""
        start, scop = replace(plan, checked=False, remarks=()), plan.scop
        numbers = assumed_sizes(scop, self.sizes)
        model = SearchContext(
            self.machine,
            numbers,
            frozenset(scop.params) - frozenset(self.sizes or ()),
            reassociate=self.reassociate,
            spinning=self.wait_policy == "active",
            tried=tried,
        )
        allowed = budget(self.operations, "the search")
        if self.fusion != "output":
            plan = scheduled(start, self.fusion, model, allowed, tile=self.tile)
            return replace(plan, checked=True)
        plan = _best(start, model, allowed, tile=self.tile)
        if self.reassociate and not has_register_tiles(plan) and may_be_tiled(scop):
            ordered = replace(model, reassociate=False, blocks_only=True)
            in_order = _best(start, ordered, allowed, tile=self.tile)
            plan = _kept_in_registers(plan, in_order)
        if self.tile:
            with allowed:
                plan, said = take(lambda p: wavefronts(p, model, is_legal), plan)
            plan = replace(plan, remarks=(*plan.remarks, *said))
        return replace(plan, checked=True, remarks=_once(plan.remarks))


def _best(start: Plan, model: SearchContext, allowed: OperationLimit, *, tile: bool) -> Plan:
    """The plan of the program with arrays added where that pays; its remarks say why."""
    if not tile:
        return _searched(start, model, allowed, tile=False)
    with allowed:
        start, looked = take(lambda p: tabulated(p, model), start)
        again, said = take(lambda p: cloned(p, model), start)
        passes, more = take(lambda p: in_passes(p, model), again)
        turned, turns = take(taking_turns, passes)
    blocks = _in_time(turned, model, allowed) if turned is not passes else None
    if blocks is not None:
        return replace(blocks, remarks=(*looked, *said, *more, *turns, *blocks.remarks))
    plan = _searched(passes, model, allowed, tile=True)
    if passes is not again and stored(plan, model):
        plan, more = _searched(again, model, allowed, tile=True), refused(more, STORED)
        passes = again
        with allowed:
            turned, turns = take(taking_turns, passes)
    plan, rows = _weighed(plan, passes, sharing_rows, SLOWER, model, allowed)
    if turned is not passes:
        plan, turns = _faster(plan, turned, turns, NO_FASTER, model, allowed)
    return replace(plan, remarks=(*looked, *said, *more, *rows, *turns, *plan.remarks))


def _weighed(
    plan: Plan,
    start: Plan,
    change: Callable[[Plan, SearchContext], tuple[Plan, tuple[Remark, ...]]],
    slower: str,
    model: SearchContext,
    allowed: OperationLimit,
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan, or that of the program after a change of ``start``, where it is the better one."""
    with allowed:
        changed, said = take(lambda p: change(p, model), start)
    if changed is start:
        return plan, said
    return _faster(plan, changed, said, slower, model, allowed)


def _faster(
    plan: Plan,
    changed: Plan,
    said: tuple[Remark, ...],
    slower: str,
    model: SearchContext,
    allowed: OperationLimit,
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan, or that of the changed program, where it is predicted to take less, proven."""
    other = _searched(changed, model, allowed, tile=True)
    with allowed:
        times = [predicted_call(p, model) for p in (plan, other)]
    if times[1] < times[0] and is_proven(other):
        return other, said
    return plan, refused(said, slower)


def _in_time(start: Plan, model: SearchContext, allowed: OperationLimit) -> Plan | None:
    """The plan in tiles over steps that take turns, proven; ``None`` where there is none.

    With these, no plan whose steps copy is searched for: tiles of theirs do the same, and move each
    element once more.
    """
    with allowed:
        plan = Beam(model, tile=True).in_time(start)
    return plan if plan is not None and is_proven(plan) else None


def _searched(start: Plan, model: SearchContext, allowed: OperationLimit, *, tile: bool) -> Plan:
    """The plan in the source's order, one of isl's, or with updates scattered, whichever is the
    better one, proven."""
    with allowed:
        plan = _chosen(Beam(model, tile=tile).run(start), model)
    if not is_proven(plan):
        with allowed:
            plan = Beam(replace(model, cautious=True), tile=tile).run(start)[0]
    if tile:
        with allowed:
            plan, said = take(lambda p: (reordered(p, start, model), ()), plan)
        plan = replace(plan, remarks=(*plan.remarks, *said))
        plan = scattered(
            plan, start, model, allowed, lambda p: _searched(p, model, allowed, tile=True)
        )
    return plan


def _chosen(plans: Sequence[Plan], model: SearchContext) -> Plan:
    """The first plan, or one that the time model clearly prefers to it."""
    first, *others = plans
    if not others:
        return first
    for plan in plans:
        model.tried.setdefault(_inlining(plan), plan)
    times = [predicted_call(plan, model) for plan in plans]
    remarks: list[Remark] = []
    best, least = first, times[0] * CLEARLY
    for plan, ns in zip(others, times[1:], strict=True):
        if ns < least and is_proven(plan):
            best, least = plan, ns
    if best is not first:
        ns = times[plans.index(best)]
        numbers = {"predicted ns": ns, "instead of": times[0]}
        for move in _left_out(first, best):
            reason = "without it a call is predicted to take less"
            remarks.append(Remark("refused", move.move, move.subject, reason, move.consumer,
                                  numbers=numbers))  # fmt: skip
    return replace(best, remarks=(*remarks, *best.remarks))


def _inlining(plan: Plan) -> str:
    """What tells a plan of the beam from others."""
    inlined = ", ".join(sorted(plan.program.inlined)) or "nothing"
    kept = ", ".join(s.array for s in plan.program.stores) or "nothing"
    return f"{inlined} inlined, {kept} in buffers"


def _left_out(first: Plan, best: Plan) -> Iterator[Remark]:
    """What one plan says was applied, of which another says nothing."""
    kept = {(r.move, r.subject, r.consumer) for r in best.remarks}
    for remark in first.remarks:
        named = remark.move, remark.subject, remark.consumer
        if remark.kind == "applied" and named not in kept and remark.move in {"inline", "fuse"}:
            yield remark


def _kept_in_registers(plan: Plan, ordered: Plan) -> Plan:
    """The plan whose sums are in any order, without blocks in registers, or that which keeps
    theirs, if it has: these load a value for several sums, and lanes for one."""
    if not has_register_tiles(ordered):
        return plan
    reason = "blocks of sums in registers, in their order, load less than sums in lanes"
    return replace(
        ordered, remarks=(Remark("refused", "reassociate", "all", reason), *ordered.remarks)
    )


def _once(remarks: tuple[Remark, ...]) -> tuple[Remark, ...]:
    """Without what is said again: of a search that is spent, each later step says the same."""
    return tuple({repr(r): r for r in remarks}.values())
