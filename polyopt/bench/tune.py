"""Measured tuning: the model's choices under several cache budgets, timed against each other."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from polyopt.auto import auto
from polyopt.bench.arguments import CallArguments, inputs_for
from polyopt.bench.measure import Sample, Subject, alternate
from polyopt.codegen.target import native_target
from polyopt.errors import InternalError
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Scop
    from polyopt.library import LibraryKernel

#: what the model is told of L2, relative to what the machine has
_BUDGETS = (1.0, 0.5, 2.0, 0.25, 4.0, 0.125)


@dataclass(frozen=True, eq=False)
class Trial:
    """A plan, what it was made for, and how long it took."""

    name: str
    plan: Plan
    sample: Sample


def candidates(scop: Scop, sizes: Mapping[str, int]) -> dict[str, Plan]:
    """Plans that differ, by what they were made for: the model's own choice is the first."""
    machine = native_target()
    found: dict[str, Plan] = {}
    seen: set[str] = set()
    for factor in _BUDGETS:
        budget = round(machine.l2_bytes * factor)
        plan = auto(scop, target=replace(machine, l2_bytes=budget), sizes=sizes)
        if str(plan) not in seen:
            seen.add(str(plan))
            found[f"L2 of {budget >> 10} KiB"] = plan
    unfused = Plan(scop)
    return found if str(unfused) in seen else {**found, "no fusion": unfused}


def tune(
    scop: Scop,
    sizes: Mapping[str, int],
    *,
    library: LibraryKernel | None = None,
    threads: int | None = None,
    seed: int = 0,
    seconds: float = 0.5,
) -> list[Trial]:
    """All candidates with their times, the fastest first.

    ``seed`` decides the inputs and the order in which candidates take turns.
    """
    plans = candidates(scop, sizes)
    kernels = {name: plan.compile() for name, plan in plans.items()}
    inputs = inputs_for(next(iter(kernels.values())), sizes, seed, library)
    order = list(plans)
    random.Random(seed).shuffle(order)  # noqa: S311 - an order of turns, not a secret
    subjects: dict[str, Subject] = {}
    for name in order:
        call = CallArguments.make(kernels[name], inputs, sizes)
        restore = call.restore if call.changes_inputs else None
        subjects[name] = Subject(partial(call.call, kernels[name], threads), restore)
    samples = alternate(subjects, seconds=seconds)
    trials = [Trial(name, plan, samples[name]) for name, plan in plans.items()]
    return sorted(trials, key=lambda t: t.sample.median_ms)


def save_plan(plan: Plan, path: str | Path) -> None:
    """Write a plan, and read it back: what is on disk is the plan that was measured.

    Raises ``InternalError``, and leaves no file, where its moves do not make it again.
    """
    plan.save(path)
    if str(Plan.load(path, plan.scop)) != str(plan):
        Path(path).unlink()
        msg = "the saved moves do not make this plan again"
        raise InternalError(msg)
