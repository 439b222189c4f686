"""The objective: the time that the model predicts, and when one plan is clearly better."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.codegen.flop_count import LEAST_WORK
from polyopt.errors import NotDecidedError
from polyopt.isl import stretches
from polyopt.memo import Same, memory
from polyopt.scheduler.context import STEP_BUDGET
from polyopt.scheduler.model.cache import nest_name
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.model.machine import costs_of
from polyopt.scheduler.model.time import work_of
from polyopt.transform.schedule.query import copies_of, find_loop, loops_around, path_to
from polyopt.transform.schedule.tree import prefix_map

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from polyopt.codegen.target import Target
    from polyopt.scheduler.context import SearchContext
    from polyopt.scheduler.model.time import NestWork
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram

#: a plan is clearly better where the model predicts this share of the time, or less: what its
#: predictions of one program's plans are off by (``docs/model.md``)
CLEARLY = 0.8
#: share of a time by which two plans differ by chance, measured or predicted
NOISE = 0.02


def predicted(
    plan: Plan,
    model: SearchContext,
    threads: int | None = None,
    nests: Collection[str] | None = None,
) -> float:
    """Nanoseconds of a call at the context's sizes, or of some of its nests; on all cores unless
    threads are given.

    Where isl's budget is spent, nothing is predicted: no plan is better than another.
    """
    cores = model.target.cores if threads is None else threads
    return min(_times(plan, model, (cores,), nests))


def predicted_call(plan: Plan, model: SearchContext) -> float:
    """Nanoseconds of a call, on all cores or on one, whichever is less: one with little work starts
    no threads, whatever the plan says."""
    return min(_times(plan, model, (1, model.target.cores)))


def predicted_group(
    plan: Plan, model: SearchContext, root: str, producers: Collection[str], at: str = ""
) -> float:
    """Nanoseconds of a group: of the nest of its root, and of nests that its producers have still;
    those that are inlined have none.

    With ``at``, the loop over the tiles that threads share, of one thread that has the most tiles,
    as often as there are threads. So groups of more and of fewer tiles compare.
    """
    program = plan.program
    path = loops_around(program, root)
    own = {path[0].name}
    apart = nests_apart(program, root, producers)
    uneven = 1.0
    if at:
        outer = path[: path.index(find_loop(program, at)) + 1]
        tiles = max(1.0, math.prod(trips(program, n, model.sizes) for n in outer))
        cores = model.target.cores
        uneven = math.ceil(tiles / cores) * cores / tiles
    inside = predicted(plan, model, threads=1, nests=own)
    return uneven * inside + (predicted(plan, model, threads=1, nests=apart) if apart else 0.0)


def nests_apart(program: ScheduledProgram, root: str, producers: Collection[str]) -> set[str]:
    """The nests that producers have still, beside that of the root."""
    there = [p for p in producers if p not in program.inlined]
    places = [program.places[copy] for p in there for copy in copies_of(program, p)]
    own = loops_around(program, root)[0].name
    return {place.loops[0].name for place in places if place.loops} - {own}


def _times(
    plan: Plan,
    model: SearchContext,
    threads: tuple[int, ...],
    nests: Collection[str] | None = None,
) -> list[float]:
    """Nanoseconds by numbers of threads, of what is counted once."""
    costs = costs_of(model.target)
    try:
        with stretches(STEP_BUDGET, "a prediction"):
            work = _work(plan.program, model.sizes, model.target, nests)
    except NotDecidedError:
        return [math.inf]
    return [sum(nest.time(costs, count).ns for nest in work) for count in threads]


def _work(
    program: ScheduledProgram,
    sizes: Mapping[str, int],
    target: Target,
    nests: Collection[str] | None,
) -> tuple[NestWork, ...]:
    """``work_of``, which a search asks of a program each time that it compares it with another."""
    known = memory(program, "work")
    key = (Same(sizes), Same(target), None if nests is None else frozenset(nests))
    if key not in known:
        known[key] = work_of(program, sizes, target, nests)
    return known[key]


def clearly_better(plans: Sequence[Plan], model: SearchContext) -> tuple[Plan, ...]:
    """The first plan, and those that one thread is predicted to run clearly faster."""
    first, *others = plans
    if not others:
        return (first,)
    most = predicted(first, model, threads=1) * CLEARLY
    return (first, *(p for p in others if predicted(p, model, threads=1) < most))


def predicted_sharing(plan: Plan, model: SearchContext, loop: str) -> tuple[float, float]:
    """Nanoseconds that a loop takes each time it is entered: on one thread, and in even shares on
    all of them, who have to be woken.

    Of what its nest moves, it has the part that it has of its instructions. Where isl's budget is
    spent, sharing is taken to be worth it.
    """
    program, costs = plan.program, costs_of(model.target)
    *around, node = path_to(program, loop)
    nest = nest_name((*around, node)[0])
    try:
        with stretches(STEP_BUDGET, "a prediction"):
            (work,) = _work(program, model.sizes, model.target, {nest})
            outer = [prefix_map(program.copies[c], tuple(around)).range() for c in node.copies]
            entries = max(1, *(about(values, model.sizes) for values in outer))
    except NotDecidedError:
        return math.inf, 0.0
    still = replace(work, moved=())
    inside = tuple(runs for runs in work.runs if runs.copy in node.copies)
    part = replace(still, runs=inside).time(costs, 1).ns / max(1.0, still.time(costs, 1).ns)
    alone = part * work.time(costs, 1).ns / entries
    return alone, shared_time(alone, model)


def shared_time(alone: float, model: SearchContext) -> float:
    """Nanoseconds that all threads take for what takes one of them some."""
    return alone / model.target.cores + woken(model)


def is_worth_sharing(alone: float, shared: float) -> bool:
    """Whether all threads take clearly less than one of them."""
    return shared < CLEARLY * alone


def least_shared(model: SearchContext) -> float:
    """Nanoseconds of one thread from which on it is worth sharing."""
    return woken(model) / (CLEARLY - 1.0 / model.target.cores)


def woken(model: SearchContext) -> float:
    """Nanoseconds to start threads and to wait for the last of them.

    Unless they spin they may sleep, which costs are not measured with: to wake them takes as long
    as the operations below which calls start none.
    """
    costs = costs_of(model.target)
    asleep = 0.0 if model.spinning else LEAST_WORK * costs.arithmetic / costs.clock
    return costs.region + asleep
