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
from polyopt.scheduler.finishing.parallelize import parallelize_outer
from polyopt.scheduler.finishing.permute_for_reuse import passed_once
from polyopt.scheduler.finishing.row_column_blocks import read_once
from polyopt.scheduler.finishing.simd_reductions import sums_in_lanes
from polyopt.scheduler.finishing.split_for_parallelism import splits
from polyopt.scheduler.finishing.split_ranges import split_ranges
from polyopt.scheduler.finishing.strip_mine import strip_mined
from polyopt.scheduler.queries import is_legal
from polyopt.scheduler.strategies.outer_vectors import outer_vectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.scheduler.context import SearchContext, Step
    from polyopt.transform.plan import Plan


def finishing(model: SearchContext, legal: Callable[[Plan], bool]) -> tuple[Step, ...]:
    """The last stages of the search; ``legal`` says whether an order of loops keeps the flow."""
    sizes, target = model.sizes, model.target
    return (
        lambda p: contracted(p, model, is_legal),
        lambda p: splits(p, model, is_legal),
        lambda p: split_ranges(p, target, sizes, is_legal),
        lambda p: passed_once(p, model, legal),
        lambda p: outer_vectors(p, model, legal, lambda q, shared: _ended(q, model, legal, shared)),
        lambda p: arrange(p, model, legal),
        lambda p: sums_in_lanes(p, model, is_legal),
        lambda p: read_once(p, target, sizes, is_legal),
        lambda p: outer_vectors(p, model, legal),
        lambda p: rows_together(p, target, sizes, is_legal),
        lambda p: chains_together(p, target, sizes, is_legal),
        lambda p: strips(p, target, sizes, is_legal),
        lambda p: strip_mined(p, model, is_legal),
        lambda p: store_past_caches(p, model),
        lambda p: from_whole_vectors(p, model),
        lambda p: parallelize_outer(p, model),
    )


def _ended(
    plan: Plan,
    model: SearchContext,
    legal: Callable[[Plan], bool],
    shared: bool,  # noqa: FBT001 - a callback's argument
) -> Plan:
    """The plan with vectors, and threads where they share it, to be weighed against another."""
    sizes, target = model.sizes, model.target
    plan, _ = arrange(plan, model, legal)
    if not shared:
        return plan
    plan, _ = sums_in_lanes(plan, model, is_legal)
    plan, _ = read_once(plan, target, sizes, is_legal)
    plan, _ = strips(plan, target, sizes, is_legal)
    plan, _ = strip_mined(plan, model, is_legal)
    return parallelize_outer(plan, model)[0]
