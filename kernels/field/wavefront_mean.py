"""Each element from its left and upper neighbour. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 1000, "m": 1100},
    "demo": {"n": 300, "m": 400},
    "test": {"n": 9, "m": 13},
    "tiny": {"n": 1, "m": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``aa`` f32 ``[n][m]``."""
    return {"aa": rng.random((sizes["n"], sizes["m"]), dtype=np.float32)}


def reference(*, aa: np.ndarray, n: int, m: int) -> dict[str, np.ndarray]:
    """``aa`` f32 ``[n][m]``, by antidiagonals."""
    aa = aa.copy()
    for diagonal in range(2, n + m - 1):
        j = np.arange(max(1, diagonal - m + 1), min(n - 1, diagonal - 1) + 1)
        i = diagonal - j
        aa[j, i] = (aa[j, i - 1] + aa[j - 1, i]) / np.float32(2)
    return {"aa": aa}
