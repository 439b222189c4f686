"""An expert's schedule of Jacobi's stencil: 16 steps of time per visit to a strip of rows.

The two half-steps follow each other row by row (the second one row later), and skewing rows by two
per step makes time and rows permutable. A tile of 16 steps on 32 rows then stays in the
second-level cache, where the untiled loops read and write both arrays from memory 16 times. Tiles
on a diagonal do not depend on each other: one more skew makes them a parallel loop.
"""

from __future__ import annotations

import polyopt as po


def schedule(plan: po.Plan, *, steps: int = 16, rows: int = 32) -> po.Plan:
    """Skewed tiles of ``steps`` of time and ``rows``, in wavefronts."""
    return (
        plan.fuse_loops("B.i", "A.i", shift=1)
        .skew("A.i", by="A.t", factor=2)
        .tile("A", t=steps, i=rows)
        .skew("A.i_tile", by="A.t_tile")
        .interchange("A.t_tile", "A.i_tile")
        .parallelize("A.t_tile")
        .vectorize("B.j")
        .vectorize("A.j")
    )
