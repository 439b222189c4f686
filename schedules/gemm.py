"""An expert's schedule of the matrix product: blocks for the caches, 4 x 8 products in registers.

A block of 256 x 256 of B is copied to a buffer that fits the second-level cache and has no gaps
between its rows, and serves 128 rows of A. Inside, four rows of C take eight products each per
pass over a row: an element of B is loaded once for four rows, an element of C once for eight
products.
"""

from __future__ import annotations

import polyopt as po


def schedule(plan: po.Plan, *, rows: int = 128, depth: int = 256, columns: int = 256) -> po.Plan:
    """Scaling apart from the product, which is tiled twice and packed."""
    return (
        plan.distribute("C.i", at="C_1")
        .tile("C_1", i=rows, k=depth, j=columns)
        .reorder("C.i_tile", "C_1.j_tile", "C.k_tile")
        .pack("B", at="C.k_tile")
        .tile("C_1", i=4, k=8)
        .reorder("C.i_tile2", "C.k_tile2", "C_1.j", "C.i", "C.k")
        .unroll("C.i")
        .unroll("C.k")
        .separate_full_tiles("C.i_tile2")
        .separate_full_tiles("C.k_tile2")
        .vectorize("C.j")
        .vectorize("C_1.j")
        .parallelize("C.i2")
        .parallelize("C.i_tile")
    )
