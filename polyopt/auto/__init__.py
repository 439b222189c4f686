"""Automatic plans: output-driven grouping, tile sizes from the model, vectors, threads.

The search is deterministic. Its result is proven as a whole; a step that the proof refuses is
left out, and a remark says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.auto.grouping import Model, group
from polyopt.auto.inlining import inline_cheap
from polyopt.auto.nests import arrange, refusal
from polyopt.auto.rows import pipelines
from polyopt.auto.sizes import assumed_sizes
from polyopt.auto.spaces import join_spaces
from polyopt.auto.threads import parallelize_outer
from polyopt.codegen.target import target as find_target
from polyopt.errors import IllegalScheduleError, NotDecidedError, PolyoptError
from polyopt.transform.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Scop
    from polyopt.transform.remark import Remark

    #: one stage of the search: a plan in, a plan and what was decided out
    Step = Callable[[Plan], tuple[Plan, tuple[Remark, ...]]]

__all__ = ["auto"]


def auto(
    scop: Scop, *, target: str | Target = "native", sizes: Mapping[str, int] | None = None
) -> Plan:
    """A fast plan for a program, with no schedule written.

    Producers are inlined, or fused into tiles of what reads them, where the cost model says that
    it pays; loops without dependences become vector loops and are shared by threads. The same
    program, target and sizes always give the same plan. ``plan.explain()`` says why it is so,
    ``plan.script`` is the same plan as moves::

        plan = po.auto(scop, sizes={"H": 2160, "W": 3840})

    ``sizes`` are the parameter values to be fast for; the plan holds for all. ``target`` is
    ``"native"``, ``"generic"``, ``"avx2"``, ``"avx512"``, ``"neon"``, or a ``Target``.

    Raises ``InvalidOptionError`` for an unknown target or size, ``OutOfBoundsError`` or
    ``UninitializedError`` for a program that leaves its arrays or reads what nothing wrote.
    """
    machine = find_target(target) if isinstance(target, str) else target
    start = Plan(scop)
    numbers = assumed_sizes(scop, sizes)
    model = Model(machine, numbers)
    steps: list[Step] = [
        inline_cheap,
        lambda p: join_spaces(p, _is_legal),
        lambda p: pipelines(p, model),
        lambda p: group(p, model),
        lambda p: arrange(p, _is_legal),
        lambda p: parallelize_outer(p, numbers, machine.cores),
    ]
    plan = replace(start, checked=False)
    remarks: tuple[Remark, ...] = ()
    for step in steps:
        plan, remarks = _take(step, plan, remarks)
    return replace(plan, checked=True, remarks=remarks)


def _take(step: Step, plan: Plan, remarks: tuple[Remark, ...]) -> tuple[Plan, tuple[Remark, ...]]:
    """One step of the search, kept only where the proof accepts its result."""
    changed, said = step(plan)
    if changed is plan:
        return plan, (*remarks, *said)
    try:
        changed.prove()
    except (IllegalScheduleError, NotDecidedError) as error:
        taken_back = refusal(said[0].move if said else "", "all", error)
        return plan, (*remarks, *(r for r in said if r.kind != "applied"), taken_back)
    return changed, (*remarks, *said)


def _is_legal(plan: Plan) -> bool:
    try:
        plan.prove()
    except PolyoptError:
        return False
    return True
