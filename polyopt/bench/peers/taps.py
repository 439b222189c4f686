"""Constants of the kernels that several peers are told."""

from __future__ import annotations

import math

import numpy as np

#: shares of R, G, B in brightness
LUMA = np.array([0.299, 0.587, 0.114], np.float32)
_SIGMA = 1.5


def gaussian() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """The seven weights of ``kernels/unsharp.c``, f32, which do not quite add up to one."""
    weights = [
        math.exp(-i * i / (2 * _SIGMA**2)) / (math.sqrt(2 * math.pi) * _SIGMA) for i in range(-3, 4)
    ]
    return np.array(weights, np.float32)
