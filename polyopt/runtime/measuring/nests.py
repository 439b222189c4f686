"""Times of a kernel's nests, read off the clock that its C reads between them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.measuring.alternate import Subject

#: calls of which the fastest counts: the others had the machine to share
CALLS = 7


def nest_times(kernel: Kernel, subject: Subject) -> dict[str, float]:
    """Milliseconds of each nest in the fastest of some calls, by its outermost loop.

    ``kernel`` is of C that is ``timed``, and ``subject`` calls it.
    """
    laps = np.zeros(len(kernel.program.nests))
    library = ctypes.CDLL(str(kernel.built.library))
    pointer = ctypes.c_void_p.in_dll(library, "polyopt_laps")
    pointer.value = laps.ctypes.data
    fastest = laps
    try:
        for count in range(CALLS):
            if subject.restore is not None:
                subject.restore()
            laps[:] = 0.0
            subject.call()
            if not count or laps.sum() < fastest.sum():
                fastest = laps.copy()
    finally:
        pointer.value = None
    return dict(zip(kernel.program.nests, (float(s) * 1e3 for s in fastest), strict=True))
