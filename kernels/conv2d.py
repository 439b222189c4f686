"""Quantise, convolve with 3 x 3, ReLU: the reference of ``conv2d.c``."""

from __future__ import annotations

import numpy as np

K = 3

SIZES = {
    "bench": {"H": 2050, "W": 2050},
    "demo": {"H": 1082, "W": 1922},
    "test": {"H": 11, "W": 14},
    "tiny": {"H": 3, "W": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """An image ``A`` f32 ``[H][W]`` in [0, 1), a kernel ``B`` f32 ``[3][3]``, and ``scale``."""
    return {
        "scale": np.float32(255),
        "A": rng.random((sizes["H"], sizes["W"]), dtype=np.float32),
        "B": rng.standard_normal((K, K), dtype=np.float32),
    }


def reference(
    *, scale: float, A: np.ndarray, B: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``C`` f32 ``[H - 2][W - 2]``."""
    quantised = np.floor(A * np.float32(scale) + np.float32(0.5))
    height, width = (n - K + 1 for n in A.shape)
    result = np.zeros((height, width), np.float32)
    for kh in range(K):
        for kw in range(K):
            result += quantised[kh : kh + height, kw : kw + width] * B[kh, kw]
    return {"C": np.maximum(result, np.float32(0))}
