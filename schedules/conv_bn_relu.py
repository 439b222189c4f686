"""An expert's schedule of a 3 x 3 convolution with batch normalisation and ReLU.

Arithmetic is the limit. Four output channels are computed together, inside the loop over a row:
each of the nine shifted loads of the input feeds four multiplications, and the 36 weights stay in
registers along the row. Input and result fit the second-level cache, so padding and
normalisation stay loop nests of their own.
"""

from __future__ import annotations

import polyopt as po


def schedule(plan: po.Plan) -> po.Plan:
    """Initialisation apart from the reduction, which is jammed by four channels."""
    for loop in ("x", "y", "co", "n"):
        plan = plan.distribute(f"conv.{loop}", at="conv_1")
    return (
        plan.split("conv.co", 4)
        .reorder("conv.co_tile", "conv.y", "conv.ci", "conv.x", "conv.co", "conv.ky", "conv.kx")
        .unroll("conv.co")
        .unroll("conv.ky")
        .unroll("conv.kx")
        .separate_full_tiles("conv.co_tile")
        .vectorize("padded.x")
        .vectorize("conv.x2")
        .vectorize("conv.x")
        .vectorize("out.x")
        .parallelize("padded.ci")
        .parallelize("conv.co_tile")
        .parallelize("out.co")
    )
