"""LU factors of a matrix in its place: the reference of ``lu.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 1000},
    "demo": {"N": 400},
    "test": {"N": 11},
    "tiny": {"N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` f64 ``[N][N]``, whose diagonal outweighs its rows."""
    n = sizes["N"]
    return {"A": rng.random((n, n)) + n * np.eye(n)}


def reference(*, A: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``A`` holds L below its diagonal and U above."""
    A = A.copy()
    for k in range(len(A)):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return {"A": A}
