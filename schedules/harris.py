"""An expert's schedule of Harris corners: two gradients in windows of three rows, no more.

Of twelve stages only the grey image and the two gradients are worth keeping: products of
gradients cost less than the loads of a stored product, and sums, determinant and trace are used
once. Three windows of a few rows stay in the first-level cache and their rows are computed once per
strip; strips of 32 rows run in parallel.
"""

from __future__ import annotations

import polyopt as po

#: stages computed where they are read, from the last to the first
POINTWISE = ("det", "trace", "Sxx", "Syy", "Sxy", "Ixx", "Iyy", "Ixy")
#: stages kept in windows, from the last to the first
WINDOWS = ("Ix", "Iy", "gray")


def schedule(plan: po.Plan, *, rows: int = 32) -> po.Plan:
    """Strips of ``rows``, three sliding windows in each, everything else inlined."""
    for stage in POINTWISE:
        plan = plan.inline(stage)
    plan = plan.split("out.y", rows)
    for stage in WINDOWS:
        plan = plan.fuse(stage, into="out", storage="sliding").vectorize(f"{stage}.x")
    return plan.vectorize("out.x").parallelize("out.y_tile")
