"""The Cholesky factor of a matrix in its place: the reference of ``cholesky.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 1400},
    "demo": {"N": 400},
    "test": {"N": 11},
    "tiny": {"N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` f64 ``[N][N]``, positive definite."""
    n = sizes["N"]
    half = rng.random((n, n))
    return {"A": half + half.T + 2 * n * np.eye(n)}


def reference(*, A: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``A`` with the factor in its lower triangle."""
    return {"A": np.linalg.cholesky(A) + np.triu(A, 1)}
