"""An expert's schedule of the stem of ResNet.

The convolution has three input channels and a stride of two. Its seven taps along a row are
unrolled in the loop over that row, so that an output is loaded and stored once for seven
products. Normalised values are a window of three rows that the pooling moves along, as in
``bn_relu_maxpool``; border rows and columns of the pooling get loops of their own.
"""

from __future__ import annotations

import polyopt as po


def schedule(plan: po.Plan) -> po.Plan:
    """The reduction row by row, the activations in a window of the pooling."""
    for loop in ("x", "y", "co", "n"):
        plan = plan.distribute(f"conv.{loop}", at="conv_1")
    return (
        plan.reorder("conv.co", "conv.y", "conv.ci", "conv.ky", "conv.x", "conv.kx")
        .unroll("conv.kx")
        .fuse("act", into="out", at="out.y", storage="sliding")
        .unroll("out.ky")
        .unroll("out.kx")
        .vectorize("padded.x")
        .vectorize("conv.x2")
        .vectorize("conv.x")
        .vectorize("act.x")
        .vectorize("out.x")
        .separate_full_tiles("out.y")
        .separate_full_tiles("out.x")
        .parallelize("conv.co")
        .parallelize("out.co")
    )
