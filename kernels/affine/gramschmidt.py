"""QR factors by the modified Gram-Schmidt process: the reference of ``gramschmidt.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 500, "E": 120},
    "demo": {"N": 200, "E": 100},
    "test": {"N": 7, "E": 4},
    "tiny": {"N": 1, "E": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` f64 ``[N + E][N]``; ``R`` f64 ``[N][N]``, whose lower triangle stays."""
    n, m = sizes["N"], sizes["N"] + sizes["E"]
    return {"A": rng.standard_normal((m, n)), "R": np.zeros((n, n))}


def reference(*, A: np.ndarray, R: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """What is left in ``A``; ``Q`` f64 ``[N + E][N]``, ``R`` f64 ``[N][N]``."""
    A, R, Q = A.copy(), R.copy(), np.empty_like(A)
    for k in range(len(R)):
        R[k, k] = np.sqrt(A[:, k] @ A[:, k])
        Q[:, k] = A[:, k] / R[k, k]
        R[k, k + 1 :] = Q[:, k] @ A[:, k + 1 :]
        A[:, k + 1 :] -= np.outer(Q[:, k], R[k, k + 1 :])
    return {"A": A, "Q": Q, "R": R}
