"""What the search ends with, whatever order the loops are in: vectors, then threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.scheduler.finishing.aligned_loads import from_whole_vectors
from polyopt.scheduler.finishing.contract_arrays import contracted
from polyopt.scheduler.finishing.innermost import arrange
from polyopt.scheduler.finishing.interleave_recurrences import (
    chains_together,
    rows_together,
    strips,
)
from polyopt.scheduler.finishing.nontemporal import store_past_caches
from polyopt.scheduler.finishing.permute_for_reuse import passed_once
from polyopt.scheduler.finishing.row_column_blocks import read_once
from polyopt.scheduler.finishing.simd_reductions import sums_in_lanes
from polyopt.scheduler.finishing.split_ranges import split_ranges
from polyopt.scheduler.finishing.strip_mine import strip_mined
from polyopt.scheduler.queries import is_legal, narrow_locals
from polyopt.scheduler.strategies.outer_vectors import nests_in_lanes, outer_vectors
from polyopt.scheduler.threads.parallelize import parallelize_outer
from polyopt.scheduler.threads.split_for_parallelism import splits

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.scheduler.context import SearchContext, Step
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.remark import Remark

    Stepped = tuple[Plan, tuple[Remark, ...]]


def finishing(model: SearchContext, legal: Callable[[Plan], bool]) -> tuple[Step, ...]:
    """The last stages of the search; ``legal`` says whether an order of loops keeps the flow."""
    sizes, target = model.sizes, model.target

    def arranged(plan: Plan) -> Stepped:
        plan, said = arrange(plan, model, legal)
        return narrow_locals(plan, is_legal), said

    def in_lanes(plan: Plan) -> Stepped:
        return sums_in_lanes(plan, model, is_legal)

    def in_blocks(plan: Plan) -> Stepped:
        return read_once(plan, target, sizes, is_legal)

    def in_strips(plan: Plan) -> Stepped:
        return strips(plan, target, sizes, is_legal)

    def mined(plan: Plan) -> Stepped:
        return strip_mined(plan, model, is_legal)

    def in_parallel(plan: Plan) -> Stepped:
        return parallelize_outer(plan, model)

    def ended(plan: Plan, shared: bool) -> Plan:  # noqa: FBT001 - a callback's argument
        """The plan with vectors, and threads where they share it, to be weighed."""
        later = (in_lanes, in_blocks, in_strips, mined, in_parallel) if shared else ()
        for step in (arranged, *later):
            plan, _ = step(plan)
        return plan

    return (
        lambda p: contracted(p, model, is_legal),
        lambda p: splits(p, model, is_legal),
        lambda p: split_ranges(p, target, sizes, is_legal),
        lambda p: passed_once(p, model, legal),
        lambda p: outer_vectors(p, model, legal, ended),
        arranged,
        in_lanes,
        in_blocks,
        lambda p: outer_vectors(p, model, legal),
        lambda p: nests_in_lanes(p, model, legal, ended),
        lambda p: rows_together(p, target, sizes, is_legal),
        lambda p: chains_together(p, target, sizes, is_legal),
        in_strips,
        mined,
        lambda p: store_past_caches(p, model),
        lambda p: from_whole_vectors(p, model),
        in_parallel,
    )
