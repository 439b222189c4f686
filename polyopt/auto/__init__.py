"""Automatic plans: output-driven grouping, tile sizes from the model, vectors, threads.

The search is deterministic. Its result is proven as a whole; a step that the proof refuses is
left out, and a remark says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.auto.grouping import Model, group
from polyopt.auto.inlining import inline_cheap
from polyopt.auto.nests import arrange
from polyopt.auto.sizes import assumed_sizes
from polyopt.auto.spaces import join_spaces
from polyopt.auto.threads import parallelize_outer
from polyopt.codegen.target import target as find_target
from polyopt.errors import IllegalScheduleError, NotDecidedError, PolyoptError
from polyopt.transform.plan import Plan
from polyopt.transform.prove import prove
from polyopt.transform.remark import Remark

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Scop
    from polyopt.transform.program import Program

__all__ = ["auto"]


def auto(
    scop: Scop, *, target: str | Target = "native", sizes: Mapping[str, int] | None = None
) -> Plan:
    """A fast plan for a program, with no schedule written.

    ``sizes`` are the parameter values to be fast for; the plan holds for all. ``target`` is
    ``"native"`` or a name of ``polyopt.codegen.target``.

    Raises ``InvalidOptionError`` for an unknown target.
    """
    machine = find_target(target) if isinstance(target, str) else target
    start = Plan(scop)
    numbers = assumed_sizes(scop, sizes)
    model = Model(machine, numbers)

    def legal(program: Program) -> bool:
        return _proves(program, start)

    steps: list[Callable[[Program], tuple[Program, tuple[Remark, ...]]]] = [
        inline_cheap,
        lambda p: join_spaces(p, legal),
        lambda p: group(p, model),
        lambda p: arrange(p, numbers, legal),
        lambda p: parallelize_outer(p, numbers, machine.cores),
    ]
    program, remarks = start.program, ()
    for step in steps:
        program, remarks = _take(step, program, remarks, start)
    return replace(start, program=program, remarks=remarks)


def _take(
    step: Callable[[Program], tuple[Program, tuple[Remark, ...]]],
    program: Program,
    remarks: tuple[Remark, ...],
    start: Plan,
) -> tuple[Program, tuple[Remark, ...]]:
    """One step of the search, kept only where the proof accepts its result."""
    changed, said = step(program)
    if changed is program:
        return program, (*remarks, *said)
    try:
        prove(changed, start.original)
    except (IllegalScheduleError, NotDecidedError) as error:
        reason = f"taken back: {error.diagnostic.message}"
        taken_back = Remark(
            "refused", said[0].move if said else "", "all", reason,
            witnesses=getattr(error, "witnesses", ()), code=error.code,
        )  # fmt: skip
        return program, (*remarks, *(r for r in said if r.kind != "applied"), taken_back)
    return changed, (*remarks, *said)


def _proves(program: Program, start: Plan) -> bool:
    try:
        prove(program, start.original)
    except PolyoptError:
        return False
    return True
