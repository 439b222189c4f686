"""Measured tuning: the model's choices and their neighbours, timed against each other."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.bench.tuning.journal import Journal, Times
from polyopt.bench.tuning.retile import retiled
from polyopt.codegen.target import native_target
from polyopt.errors import InternalError
from polyopt.runtime.build import build_library
from polyopt.runtime.measuring.alternate import Subject, alternate
from polyopt.runtime.measuring.arguments import CallArguments, inputs_for
from polyopt.scale.execute import pool_of, run_all
from polyopt.scheduler import auto
from polyopt.scheduler import candidates as searched
from polyopt.scheduler.model.objective import NOISE
from polyopt.scheduler.search.candidates import SOURCE
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polyopt.codegen.signature import CProgram
    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Scop
    from polyopt.library import LibraryKernel
    from polyopt.runtime.kernel import Kernel

#: what the model is told of L2, relative to what the machine has
_BUDGETS = (0.5, 2.0, 0.25)
#: how many plans with another tile size are tried
_RETILED = 6


@dataclass(frozen=True)
class Effort:
    """How much tuning may take: ``seconds`` for each plan, ``budget`` seconds in all.

    After the budget nothing more is measured: what was is weighed, the model's own choice always
    with it. ``executor`` is as ``map_blocks`` takes it: plans are compiled there, so many at once
    as there are ``workers``, and measured here, alone, when all of that is over. Workers that
    share this machine's cache and processor save their time.
    """

    seconds: float = 0.5
    budget: float = math.inf
    executor: object = None
    workers: int = 2


@dataclass(frozen=True, eq=False)
class Trial:
    """A plan, what it was made for, and how long it took in turn with the model's own choice."""

    name: str
    plan: Plan
    times: Times

    @property
    def ratio(self) -> float:
        """Its median relative to that of the model's own choice in the same turns."""
        return self.times.median_ms / self.times.own_ms


def candidates(scop: Scop, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Plan]:
    """Plans that differ, by what they were made for.

    First the model's own choice, and what else its search made (``candidates``); then its choices
    under other cache budgets; then the first with a tile size halved or doubled, ``_RETILED`` of
    these drawn by ``seed``; then none.
    """
    machine = native_target()
    found = {row.name: row.plan for row in searched(scop, sizes=sizes)}
    found.pop(SOURCE, None)
    for factor in _BUDGETS:
        budget = round(machine.l2_bytes * factor)
        plan = auto(scop, target=replace(machine, l2_bytes=budget), sizes=sizes)
        found[f"L2 of {budget >> 10} KiB"] = plan
    changes = list(_changes(next(iter(found.values()))))
    for move, change in random.Random(seed).sample(changes, min(_RETILED, len(changes))):  # noqa: S311
        plan = retiled(next(iter(found.values())), {move: change})
        if plan is not None:
            shown = ", ".join(f"{loop}={size}" for loop, size in change.items())
            found[f"tiles of {shown}"] = plan
    found["no fusion"] = Plan(scop)
    distinct = {plan.script: name for name, plan in reversed(found.items())}
    return {name: plan for name, plan in found.items() if distinct[plan.script] == name}


def _changes(plan: Plan) -> Iterator[tuple[int, dict[str, int]]]:
    """Every tiling of a plan, by the position of its move, with one size halved or doubled."""
    for position, move in enumerate(plan.moves):
        if move.name != "tile":
            continue
        sizes = dict(move.options)
        for loop, size in sizes.items():
            yield from ((position, {**sizes, loop: s}) for s in (size // 2, size * 2) if s > 0)


def tune(
    scop: Scop,
    sizes: Mapping[str, int],
    *,
    library: LibraryKernel | None = None,
    threads: int | None = None,
    seed: int = 0,
    effort: Effort | None = None,
    journal: Journal | None = None,
    report: Callable[[int, int], object] | None = None,
) -> list[Trial]:
    """All candidates with their times: the best first, then by their ratio.

    Each takes turns with the model's own choice, which stays the best unless another is clearly
    faster, twice: of many times one is low by chance, so the best takes turns once more, and the
    worse of both ratios counts. ``seed`` decides the inputs and the neighbours. What ``journal``
    knows is not measured again, and what is measured it gets at once. ``report`` hears how many are
    done, of how many.

    Raises ``InvalidOptionError`` for an executor that is none.
    """
    effort = effort or Effort()
    start = time.monotonic()
    plans = candidates(scop, sizes, seed)
    if effort.executor is not None:
        _compile_all(list(plans.values()), effort.executor, effort.workers)
    own = next(iter(plans))
    base = plans[own].compile()
    inputs = inputs_for(base, sizes, seed, library)

    def subject(kernel: Kernel) -> Subject:
        call = CallArguments.make(kernel, inputs, sizes)
        return Subject(call.bind(kernel, threads), call.restore if call.changes_inputs else None)

    known = {script: list(times) for script, times in journal.known.items()} if journal else {}

    def measure(name: str) -> None:
        turns = {own: subject(base), name: subject(plans[name].compile())}
        samples = alternate(turns, seconds=effort.seconds)
        times = Times.of(samples[name], samples[own])
        known.setdefault(plans[name].script, []).append(times)
        if journal is not None:
            journal.add(name, plans[name].script, times)

    def late() -> bool:
        return time.monotonic() - start > effort.budget

    heard = report or _nobody
    heard(0, len(plans))
    for done, name in enumerate(plans, 1):
        if plans[name].script not in known and (name == own or not late()):
            measure(name)
        heard(done, len(plans))
    trials = _ranked(plans, known)
    while trials[0].name != own and len(known[trials[0].plan.script]) < 2 and not late():
        measure(trials[0].name)
        trials = _ranked(plans, known)
    return trials


def _ranked(plans: Mapping[str, Plan], known: Mapping[str, Sequence[Times]]) -> list[Trial]:
    """What was measured, the best first; the first of the plans is the model's own choice."""
    own = next(iter(plans))
    trials = [
        max((Trial(name, plan, times) for times in known[plan.script]), key=lambda t: t.ratio)
        for name, plan in plans.items()
        if plan.script in known
    ]
    return sorted(trials, key=lambda t: t.ratio + (0.0 if t.name == own else NOISE))


def _compile_all(plans: Sequence[Plan], executor: object, workers: int) -> None:
    """Compile plans into the cache, many at once. Raises what compiling raises."""
    programs = [plan.emit() for plan in plans]
    machine = native_target()
    with pool_of(executor, workers) as pool:
        run_all(
            pool,
            lambda free, number: free.submit(_compiled, programs[number], machine),
            len(programs),
            workers,
            _nobody,
        )


def _compiled(program: CProgram, machine: Target) -> None:
    """What a worker does; the library stays in the cache."""
    build_library(program, machine)


def _nobody(done: int, total: object) -> None:
    """Nobody asked how far it is."""


def save_plan(plan: Plan, path: str | Path) -> None:
    """Write a plan, and read it back: what is on disk is the plan that was measured.

    Raises ``InternalError``, and leaves no file, where its moves do not make it again.
    """
    plan.save(path)
    if str(Plan.load(path, plan.scop)) != str(plan):
        Path(path).unlink()
        msg = "the saved moves do not make this plan again"
        raise InternalError(msg)
