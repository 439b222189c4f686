"""Bring the statements of one space together: an init, its reduction, a pointwise tail.

Neighbouring nests that write the same array share their loops as deep as the order allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop, copies_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram


def join_spaces(plan: Plan, legal: Callable[[Plan], bool]) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with neighbouring nests of one array fused."""
    remarks: list[Remark] = []
    position = 0
    while position + 1 < len(plan.program.tree):
        one, other = plan.program.tree[position], plan.program.tree[position + 1]
        joined = _joined(plan, one, other, legal)
        if joined is None:
            position += 1
            continue
        plan, depth = joined
        reason = "they write one array, element by element"
        numbers = {"loops shared": depth}
        remarks.append(
            Remark("applied", "fuse_loops", _name(one), reason, _name(other), numbers=numbers)
        )
    return plan, tuple(remarks)


def _name(node: PlanLoop | str) -> str:
    return node if isinstance(node, str) else node.name


def _joined(
    plan: Plan, one: PlanLoop | str, other: PlanLoop | str, legal: Callable[[Plan], bool]
) -> tuple[Plan, int] | None:
    if isinstance(one, str) or isinstance(other, str):
        return None
    if _arrays(plan.program, one) != _arrays(plan.program, other):
        return None
    for depth in range(min(_shared(one), _shared(other)), 0, -1):
        try:
            fused = plan.fuse_loops(one.name, other.name, depth=depth)
        except UserError:
            continue
        if legal(fused):
            return fused, depth
    return None


def _arrays(program: ScheduledProgram, node: PlanLoop) -> set[str]:
    return {program.copies[name].statement.array for name in copies_in(node)}


def _shared(node: PlanLoop) -> int:
    """Loops from here down that hold all of the node's statements."""
    depth = 1
    while len(node.body) == 1 and isinstance(node.body[0], PlanLoop):
        node = node.body[0]
        depth += 1
    return depth
