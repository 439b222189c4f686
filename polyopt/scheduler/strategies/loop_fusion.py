"""Loop fusion of neighbouring nests: those that write one array, and siblings that read one.

An init, its reduction and a pointwise tail share their loops as deep as the order allows. Results
that are computed from the same elements, each for itself (Y, U and V of an image), are computed in
one nest where what they read comes from memory: it comes once then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.model.objective import predicted
from polyopt.transform.schedule.query import moves_target
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.scheduler.context import SearchContext
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


def join_siblings(plan: Plan, model: SearchContext) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with neighbouring nests fused that read the same arrays, none of them a result of
    the other, where a call is predicted to take less."""
    remarks: list[Remark] = []
    position = 0
    while position + 1 < len(plan.program.tree):
        one, other = plan.program.tree[position], plan.program.tree[position + 1]
        position += 1
        shared = _shared_bytes(plan, one, other, model)
        if shared <= model.target.l2_bytes or isinstance(one, str) or isinstance(other, str):
            continue
        try:
            fused = plan.fuse_loops(one.name, other.name, depth=_shared(one))
        except UserError:
            continue
        before, after = (predicted(p, model, threads=1) for p in (plan, fused))
        numbers = {"bytes": float(shared), "predicted ns": after, "apart": before}
        kind, reason = "refused", "what both read comes no faster"
        # elements that both load are loaded once, which is not in these numbers
        if after <= before:
            kind, reason = "applied", "both read the same, which comes once from memory"
            plan, position = fused, position - 1
        remarks.append(Remark(kind, "fuse_loops", one.name, reason, other.name, numbers=numbers))
    return plan, tuple(remarks)


def _shared_bytes(
    plan: Plan, one: PlanLoop | str, other: PlanLoop | str, model: SearchContext
) -> int:
    """The bytes of the arrays that two plain nests of one shape both read; 0 for others."""
    if not (_is_plain(plan.program, one) and _is_plain(plan.program, other)):
        return 0
    assert isinstance(one, PlanLoop)
    assert isinstance(other, PlanLoop)
    program = plan.program
    nests = [[trips(program, node, model.sizes) for node in loops_of((n,))] for n in (one, other)]
    read = [{a for c in copies_in(n) for a in program.arrays_read(c)} for n in (one, other)]
    written = _arrays(program, one) | _arrays(program, other)
    if nests[0] != nests[1] or written & (read[0] | read[1]):
        return 0
    arrays = read[0] & read[1]
    return sum(array_bytes(program.scop.array(name), model.sizes) for name in arrays)


def _is_plain(program: ScheduledProgram, node: PlanLoop | str) -> bool:
    """Whether a nest is perfect, unmarked, without buffers, and writes another element in each
    iteration."""
    if isinstance(node, str):
        return False
    loops = list(loops_of((node,)))
    names = {loop.name for loop in loops}
    return (
        len(loops) == _shared(node)
        and not any(loop.mark or loop.blocks_of for loop in loops)
        and not any(store.at in names for store in program.stores)
        and all(moves_target(program, copy, loop) for copy in copies_in(node) for loop in loops)
    )


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
