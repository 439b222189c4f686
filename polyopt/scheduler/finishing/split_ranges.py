"""Index-set splitting at the one iteration that keeps loops from being vectors, or from threads.

A row that all others are updated by is itself updated on the way; on both sides of it iterations
are independent (M. Griebl, P. Feautrier and C. Lengauer, "Index set splitting", 2000).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.ir.block import Block
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.queries import checked, contiguous_loop
from polyopt.transform.schedule.query import find_loop, path_to
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.codegen.target import Target
    from polyopt.transform.plan import Plan


def split_ranges(
    plan: Plan, target: Target, sizes: Mapping[str, int], legal: Callable[[Plan], bool]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with loops split where vectors, then threads, fit on both sides of an iteration."""
    remarks: list[Remark] = []
    for name in list(plan.program.places):
        if name not in plan.program.places:
            continue  # a split of a loop that it shared has made two copies of it
        loop = contiguous_loop(plan.program, name)
        path = plan.program.places[name].loops
        if loop is None or loop is not path[-1] or any(n.mark for n in path):
            continue
        if _is_block(plan, loop) or _fits(plan, loop.name):
            continue
        # one vector on each side at least
        if trips(plan.program, loop, sizes) < 2 * target.lanes(_bytes(plan, loop)):
            continue
        found = _split(plan, loop.name, legal, "vectorize")
        if found is None:
            continue
        plan, at = found
        remarks.append(_remark(loop.name, at, "vectors"))
        for outer in reversed(path_to(plan.program, loop.name)[:-1]):
            if target.cores < 2 or outer.name == at or _fits(plan, outer.name, "parallelize"):
                break
            shared = _split(plan, outer.name, legal, "parallelize", at)
            if shared is not None:
                plan = shared[0]
                remarks.append(_remark(outer.name, at, "threads"))
    return plan, tuple(remarks)


def _remark(loop: str, at: str, what: str) -> Remark:
    return Remark(
        "applied", "split_range", loop, f"on both sides of {at}'s iteration there are {what}"
    )


def _bytes(plan: Plan, loop: PlanLoop) -> int:
    """The bytes of the narrowest elements that a loop writes: most of these are in a vector."""
    return min(plan.program.copies[c].statement.value.type.bytes for c in loop.copies)


def _is_block(plan: Plan, loop: PlanLoop) -> bool:
    return any(isinstance(plan.program.copies[c].statement.value, Block) for c in loop.copies)


def _split(
    plan: Plan, loop: str, legal: Callable[[Plan], bool], move: str, at: str = ""
) -> tuple[Plan, str] | None:
    """The plan with a loop split so that a move is legal on both sides, and where it was."""
    for around in path_to(plan.program, loop)[:-1]:
        if at and around.name != at:
            continue
        try:
            changed = plan.split_range(loop, at=around.name)
        except UserError:
            continue
        sides = [loop, *_before(plan, changed, loop)]
        if all(_fits(changed, side, move) for side in sides) and legal(changed):
            return changed, around.name
    return None


def _before(plan: Plan, changed: Plan, loop: str) -> list[str]:
    """The loop of the first part, which is new."""
    known = {n.name for n in plan.program.tree if isinstance(n, PlanLoop) for n in n.loops}
    siblings = path_to(changed.program, loop)[-2].body
    new = [n.name for n in siblings if isinstance(n, PlanLoop) and n.name not in known]
    return new[:1]


def _fits(plan: Plan, loop: str, move: str = "vectorize") -> bool:
    """Whether a loop may be marked."""
    try:
        checked(getattr(plan, move)(find_loop(plan.program, loop).name), loop)
    except UserError:
        return False
    return True
