"""Product with a triangular matrix: the reference of ``trmm.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"M": 700, "N": 800},
    "demo": {"M": 300, "N": 400},
    "test": {"M": 11, "N": 7},
    "tiny": {"M": 1, "N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` f64 ``[M][M]``, ``B`` f64 ``[M][N]``, ``alpha``."""
    m, n = sizes["M"], sizes["N"]
    return {
        "alpha": np.float64(1.5),
        "A": rng.standard_normal((m, m)),
        "B": rng.standard_normal((m, n)),
    }


def reference(
    *, alpha: float, A: np.ndarray, B: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``B`` f64 ``[M][N]``."""
    lower = np.tril(A, -1) + np.eye(len(A))
    return {"B": alpha * (lower.T @ B)}
