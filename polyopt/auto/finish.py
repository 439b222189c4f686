"""What the search ends with, whatever order the loops are in: vectors, then threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.auto.crossing import read_once
from polyopt.auto.grouping import is_legal
from polyopt.auto.lanes import sums_in_lanes
from polyopt.auto.neighbours import from_whole_vectors
from polyopt.auto.nests import arrange
from polyopt.auto.nontemporal import store_past_caches
from polyopt.auto.passing import passed_once
from polyopt.auto.range_splits import split_ranges
from polyopt.auto.serial import chains_together, rows_together, strips
from polyopt.auto.splits import splits
from polyopt.auto.strip_mine import strip_mined
from polyopt.auto.temporaries import contracted
from polyopt.auto.threads import parallelize_outer

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.auto.grouping import Model
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.remark import Remark

    #: one stage of the search: a plan in, a plan and what was decided out
    Step = Callable[[Plan], tuple[Plan, tuple[Remark, ...]]]


def finishing(model: Model, legal: Callable[[Plan], bool]) -> tuple[Step, ...]:
    """The last stages of the search; ``legal`` says whether an order of loops keeps the flow."""
    sizes, target = model.sizes, model.target
    return (
        lambda p: contracted(p, model, is_legal),
        lambda p: splits(p, sizes, is_legal),
        lambda p: split_ranges(p, sizes, target.cores, is_legal),
        lambda p: passed_once(p, model, legal),
        lambda p: arrange(p, model, legal),
        lambda p: sums_in_lanes(p, model, is_legal),
        lambda p: read_once(p, target, sizes, is_legal),
        lambda p: rows_together(p, sizes, is_legal),
        lambda p: chains_together(p, sizes, is_legal),
        lambda p: strips(p, target, sizes, is_legal),
        lambda p: strip_mined(p, model, is_legal),
        lambda p: store_past_caches(p, model),
        lambda p: from_whole_vectors(p, model),
        lambda p: parallelize_outer(p, model),
    )
