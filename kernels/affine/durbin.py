"""The Yule-Walker equations: the reference of ``durbin.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 25000},
    "demo": {"N": 4000},
    "test": {"N": 11},
    "tiny": {"N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``r`` f64 ``[N]``, so small that the matrix is positive definite."""
    n = sizes["N"]
    return {"r": 0.15 * rng.random(n) / np.arange(1, n + 1) ** 1.5}


def reference(*, r: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``y`` f64 ``[N]``."""
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = alpha
    for k in range(1, len(r)):
        beta *= 1 - alpha * alpha
        alpha = -(r[k] + r[:k][::-1] @ y[:k]) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return {"y": y}
