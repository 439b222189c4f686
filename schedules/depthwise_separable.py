"""An expert's schedule of a depthwise-separable layer, channels last.

Four rows of the depthwise result stay in a buffer (58 KB at 32 channels and 112 columns) until
the pointwise product has read them. Channels are the vectors of both parts; eight of the product's
terms are added per load and store of an output. The border, where taps are missing, is separated:
inside, all nine taps are plain loads.
"""

from __future__ import annotations

import polyopt as po


def schedule(plan: po.Plan) -> po.Plan:
    """Strips of four rows in parallel, the depthwise part fused into each."""
    return (
        plan.split("out.y", 4)
        .fuse("depth", into="out", at="out.y_tile")
        .distribute("depth.x", at="depth_1")
        .reorder("depth.x", "depth_1.ci", "depth.ky", "depth.kx")
        .unroll("depth.ky")
        .unroll("depth.kx")
        .separate_full_tiles("depth.y")
        .separate_full_tiles("depth.x")
        .split("out.ci", 8)
        .reorder("out.ci_tile", "out_1.co", "out.ci")
        .unroll("out.ci")
        .separate_full_tiles("out.ci_tile")
        .vectorize("depth.ci")
        .vectorize("depth_1.ci")
        .vectorize("out.co")
        .vectorize("out_1.co")
        .vectorize("out_2.co")
        .parallelize("out.y_tile")
    )
