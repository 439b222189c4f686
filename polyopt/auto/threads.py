"""Which loops threads share: the outermost that carry no dependence and have work for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.auto.cost import trips
from polyopt.auto.nests import checked, refusal
from polyopt.errors import PolyoptError
from polyopt.transform.remark import Remark
from polyopt.transform.tree import PlanLoop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.transform.plan import Plan
    from polyopt.transform.tree import Tree

#: iterations per thread that keep the shares even
PER_THREAD = 4


def parallelize_outer(
    plan: Plan, sizes: Mapping[str, int], cores: int
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with one parallel loop in every nest that has one."""
    remarks: list[Remark] = []
    if cores < 2:
        return plan, (Remark("not considered", "parallelize", "all loops", "one core"),)
    for node in plan.program.tree:
        if isinstance(node, PlanLoop):
            plan, said = _in_nest(plan, node, sizes, cores)
            remarks += said
    return plan, tuple(remarks)


def _in_nest(
    plan: Plan, root: PlanLoop, sizes: Mapping[str, int], cores: int
) -> tuple[Plan, list[Remark]]:
    """Mark the first loop, from the outside in, that is independent and long enough."""
    remarks: list[Remark] = []
    fallback: tuple[float, Plan] | None = None
    level: Tree = (root,)
    while level:
        loop = level[0]
        if len(level) > 1 or isinstance(loop, str):
            if fallback is None:
                return _in_each(plan, level, remarks, sizes, cores)
            break
        level = loop.body
        if loop.mark:
            break
        try:
            marked = checked(plan.parallelize(loop.name), loop.name)
        except PolyoptError as error:
            remarks.append(refusal("parallelize", loop.name, error))
            continue
        numbers = {"iterations": trips(plan.program, loop, sizes)}
        if numbers["iterations"] >= PER_THREAD * cores:
            reason = "its iterations are independent"
            done = Remark("applied", "parallelize", loop.name, reason, numbers=numbers)
            return marked, [*remarks, done]
        if fallback is None or numbers["iterations"] > fallback[0]:
            fallback = (numbers["iterations"], marked)
        reason = "too few iterations to share evenly"
        remarks.append(Remark("refused", "parallelize", loop.name, reason, numbers=numbers))
    return (fallback[1] if fallback else plan), remarks


def _in_each(
    plan: Plan, nests: Tree, remarks: list[Remark], sizes: Mapping[str, int], cores: int
) -> tuple[Plan, list[Remark]]:
    """No loop around them is independent: each nest gets a parallel loop of its own."""
    for node in nests:
        if isinstance(node, PlanLoop):
            plan, said = _in_nest(plan, node, sizes, cores)
            remarks = [*remarks, *said]
    return plan, remarks
