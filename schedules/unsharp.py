"""An expert's schedule of unsharp masking: rows of brightness in windows, colours at the end.

The three colours of a row share one ratio, so rows go outside colours. The vertical blur reads
seven rows of brightness: they, its result and the ratio are windows that move along a strip of
32 rows. The horizontal blur and the sharpening are computed where they are read, once per pixel.
"""

from __future__ import annotations

import polyopt as po

#: stages kept in windows, from the last to the first
WINDOWS = ("ratio", "by", "gray")


def schedule(plan: po.Plan, *, rows: int = 32) -> po.Plan:
    """Strips of ``rows``, three sliding windows in each, the rest inlined."""
    plan = plan.interchange("out.c", "out.y").inline("sharpen").inline("bx")
    plan = plan.split("out.y", rows)
    for stage in WINDOWS:
        plan = plan.fuse(stage, into="out", at="out.y", storage="sliding")
        plan = plan.vectorize(f"{stage}.x")
    return plan.vectorize("out.x").parallelize("out.y_tile")
