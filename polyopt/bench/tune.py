"""Measured tuning: the model's choices and their neighbours, timed against each other."""

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
from polyopt.errors import InternalError, UserError
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.ir.scop import Scop
    from polyopt.library import LibraryKernel

#: what the model is told of L2, relative to what the machine has
_BUDGETS = (1.0, 0.5, 2.0, 0.25)
#: how many plans with another tile size are tried
_RETILED = 6


@dataclass(frozen=True, eq=False)
class Trial:
    """A plan, what it was made for, and how long it took."""

    name: str
    plan: Plan
    sample: Sample


def candidates(scop: Scop, sizes: Mapping[str, int], seed: int = 0) -> dict[str, Plan]:
    """Plans that differ, by what they were made for.

    First the model's choices under several cache budgets, its own choice at the head; then that
    one with a tile size halved or doubled, ``_RETILED`` of these drawn by ``seed``; then none.
    """
    machine = native_target()
    found: dict[str, Plan] = {}
    for factor in _BUDGETS:
        budget = round(machine.l2_bytes * factor)
        plan = auto(scop, target=replace(machine, l2_bytes=budget), sizes=sizes)
        found[f"L2 of {budget >> 10} KiB"] = plan
    changes = list(_changes(next(iter(found.values()))))
    for move, change in random.Random(seed).sample(changes, min(_RETILED, len(changes))):  # noqa: S311
        plan = _retiled(next(iter(found.values())), move, change)
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


def _retiled(plan: Plan, position: int, sizes: dict[str, int]) -> Plan | None:
    """The plan with other sizes in one of its tilings; ``None`` where its moves do not fit it."""
    result = replace(Plan(plan.scop), checked=False)
    try:
        for k, move in enumerate(plan.moves):
            options = sizes if k == position else dict(move.options)
            result = result.replay(move.name, move.args, options)
        result.prove()
    except UserError:
        return None
    return replace(result, checked=True)


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

    ``seed`` decides the inputs, the neighbours, and the order in which candidates take turns.
    """
    plans = candidates(scop, sizes, seed)
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
