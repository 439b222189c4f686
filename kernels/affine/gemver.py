"""Two rank-1 updates and two matrix-vector products: the reference of ``gemver.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 8000},
    "demo": {"N": 2000},
    "test": {"N": 11},
    "tiny": {"N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` f64 ``[N][N]``, the vectors f64 ``[N]``, ``alpha`` and ``beta``."""
    n = sizes["N"]
    vectors = {
        name: rng.standard_normal(n) for name in ("u1", "v1", "u2", "v2", "w", "x", "y", "z")
    }
    A = rng.standard_normal((n, n))
    return {"alpha": np.float64(1.5), "beta": np.float64(1.25), "A": A, **vectors}


def reference(
    *,
    alpha: float,
    beta: float,
    A: np.ndarray,
    u1: np.ndarray,
    v1: np.ndarray,
    u2: np.ndarray,
    v2: np.ndarray,
    w: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    z: np.ndarray,
    **_sizes: int,
) -> dict[str, np.ndarray]:
    """``A``, ``x`` and ``w`` after the updates."""
    A = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = x + beta * (y @ A) + z
    return {"A": A, "x": x, "w": w + alpha * (A @ x)}
