"""Wavefronts of blocks: two loops that both carry dependences, shared by threads diagonal by
diagonal.

rewrite: ``for (i) for (j) d[i][j] = f(d[i - 1][j], d[i][j - 1]);`` ->

    for diagonal:
      for block of rows:  shared
        for (i) for (j) d[i][j] = f(d[i - 1][j], d[i][j - 1]);

Blocks on a diagonal share nothing where blocks may be formed at all.

(M. Wolf and M. Lam, "A loop transformation theory and an algorithm to maximize parallelism", IEEE
Transactions on Parallel and Distributed Systems 1991.)
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.model.objective import is_worth_sharing, predicted, woken
from polyopt.scheduler.queries import checked
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.schedule.tree import PlanLoop, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan

#: blocks of rows per thread, and of columns per block of rows: few threads wait at either end
EACH, WIDE = 4, 2


def wavefronts(
    plan: Plan, model: SearchContext, legal: Callable[[Plan], bool]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with nests in blocks that no loop of theirs shares; ``legal`` says whether a plan
    is proven."""
    remarks: list[Remark] = []
    if model.target.cores < 2:
        return plan, ()
    for node in plan.program.tree:
        columns = _columns(node)
        if isinstance(node, PlanLoop) and columns is not None:
            plan, said = _in_blocks(plan, node, columns, model, legal)
            remarks += said
    return plan, tuple(remarks)


def _columns(node: PlanLoop | str) -> PlanLoop | None:
    """The loop right inside of one, where no loop of the nest is parallel or for blocks."""
    if isinstance(node, str) or len(node.body) != 1 or any(loop.mark for loop in loops_of((node,))):
        return None
    (columns,) = node.body
    return columns if isinstance(columns, PlanLoop) else None


def _in_blocks(
    plan: Plan,
    rows: PlanLoop,
    columns: PlanLoop,
    model: SearchContext,
    legal: Callable[[Plan], bool],
) -> tuple[Plan, list[Remark]]:
    high, wide = (trips(plan.program, loop, model.sizes) for loop in (rows, columns))
    blocks = EACH * model.target.cores
    if high < blocks or wide < WIDE * blocks:
        return plan, []
    alone = predicted(plan, model, threads=1, nests={rows.name})
    together = alone / (blocks * WIDE * blocks) * _turns(blocks, model.target.cores)
    together += (blocks + WIDE * blocks) * woken(model)
    numbers = {"predicted ns": alone, "on all threads": together}
    if not is_worth_sharing(alone, together):
        reason = "waking threads for each diagonal of blocks would take longer than they save"
        return plan, [Remark("refused", "skew", rows.name, reason, numbers=numbers)]
    sizes = {rows.iterator: ceil(high / blocks), columns.iterator: ceil(wide / (WIDE * blocks))}
    try:
        changed = _skewed(plan, rows.copies[0], sizes)
    except UserError as error:
        return plan, [refusal("skew", rows.name, error)]
    if not legal(changed):
        reason = "blocks would need values of blocks that come later"
        return plan, [Remark("refused", "skew", rows.name, reason)]
    reason = "blocks on a diagonal share nothing (wavefront)"
    return changed, [Remark("applied", "skew", rows.name, reason, numbers=numbers)]


def _turns(blocks: int, cores: int) -> int:
    """How often a thread has a block, where ``cores`` share those of each diagonal."""
    rows, columns = blocks, WIDE * blocks
    lengths = (min(d + 1, rows, rows + columns - 1 - d) for d in range(rows + columns - 1))
    return sum(ceil(length / cores) for length in lengths)


def _skewed(plan: Plan, copy: str, sizes: dict[str, int]) -> Plan:
    """The plan with blocks of a nest on diagonals. Raises ``UserError`` where that is illegal."""
    plan = plan.tile(copy, **sizes)
    high, wide, *_ = plan.program.places[copy].loops
    plan = plan.skew(wide.name, by=high.name, factor=1).interchange(high.name, wide.name)
    return checked(plan.parallelize(high.name), high.name)
