"""Double buffering of loops whose steps copy arrays back: such copies move what was just computed,
and keep the faces of blocks in time from leaning both ways.

    for t: for i: b[i] = f(a, i); for i: a[i] = b[i]

becomes

    for each two steps: for i: b[i] = f(a, i); for i: a[i] = f(b, i)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.ir.scop import Loop
from polyopt.scheduler.context import MOST_STATEMENTS
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.source.double_buffer import copied_back

if TYPE_CHECKING:
    from polyopt.transform.plan import Plan

#: why the plan that copies is taken where the other one is no faster
NO_FASTER = "steps that take turns are predicted to be no faster than those that copy"


def taking_turns(plan: Plan) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan of the program whose steps exchange the arrays that they copied."""
    scop = plan.scop
    if len(scop.statements) > MOST_STATEMENTS:
        return plan, ()
    remarks: list[Remark] = []
    for node in scop.nest:
        names = [s.array for s in copied_back(scop, node)] if isinstance(node, Loop) else []
        if not names:
            continue
        try:
            plan = plan.double_buffer(*names)
        except UserError as error:
            remarks.append(refusal("double_buffer", ", ".join(names), error))
            continue
        reason = "steps take turns in two arrays, and copy nothing back"
        remarks.append(Remark("applied", "double_buffer", ", ".join(names), reason))
    return plan, tuple(remarks)
