"""How large a kernel is at given sizes: what decides which oracle can look at it."""

from __future__ import annotations

import numpy as np

from polyopt.analysis.points import parameter_value
from tests.oracle.kernels import KERNELS, load_kernel

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
    kernels = map(load_kernel, KERNELS)
    return [k.name for k in kernels if elements(k, k.sizes["test"]) <= MOST_INTERPRETED]
