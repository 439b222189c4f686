"""An expert's schedule of quantise -> convolve -> ReLU: one pass over the image, tile by tile.

ReLU works on what the convolution just wrote, so the two nests become one, and the 3 x 3 weights
are unrolled into it. Quantised values live in a tile's buffer of 66 rows of 514, 136 KB: small
enough for the second-level cache, with rows long enough for the hardware's prefetch.
"""

from __future__ import annotations

import polyopt as po


def schedule(plan: po.Plan, *, rows: int = 64, columns: int = 512) -> po.Plan:
    """ReLU's loops fused with the convolution's, the quantisation fused into its tiles."""
    return (
        plan.fuse_loops("C.h", "C_2.h", depth=2)
        .tile("C_2", h=rows, w=columns)
        .fuse("Q", into="C_2")
        .unroll("C.kh")
        .unroll("C.kw")
        .vectorize("Q.w")
        .vectorize("C_2.w")
        .parallelize("C_2.h_tile")
    )
