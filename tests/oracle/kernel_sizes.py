"""How large a kernel is at given sizes: what decides which oracle can look at it."""

from __future__ import annotations

import numpy as np

from polyopt.analysis.sets.points import parameter_value
from tests.oracle.kernels import KERNELS

#: kernels beyond that size, by name: telling by their arrays reads all kernels while tests are
#: collected; ``test_references`` has each kernel's arrays say whether it belongs here
DEEP = {"interpolate", "local_laplacian", "pyramid_blend", "stencil_chain"}
#: elements of all arrays together, beyond which the interpreter takes minutes
MOST_INTERPRETED = 60_000


def elements(kernel, sizes):
    """Elements of all arrays, temporaries included, without making any."""
    return sum(
        int(np.prod([max(1, parameter_value(extent, sizes)) for extent in array.extents]))
        for array in kernel.scop.arrays
    )


def interpreted():
    """Names of the kernels that the interpreter can run at their test size.

    The deep pipelines are left to compiled code: their unfused C is compared with the reference.
    """
    return [name for name in KERNELS if name not in DEEP]
