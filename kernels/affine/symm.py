"""Product with a symmetric matrix: the reference of ``symm.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"M": 640, "N": 800},
    "demo": {"M": 300, "N": 400},
    "test": {"M": 11, "N": 7},
    "tiny": {"M": 1, "N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` f64 ``[M][M]``, ``B`` and ``C`` f64 ``[M][N]``, ``alpha`` and ``beta``."""
    m, n = sizes["M"], sizes["N"]
    return {
        "alpha": np.float64(1.5),
        "beta": np.float64(1.25),
        "A": rng.standard_normal((m, m)),
        "B": rng.standard_normal((m, n)),
        "C": rng.standard_normal((m, n)),
    }


def reference(
    *, alpha: float, beta: float, A: np.ndarray, B: np.ndarray, C: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``C`` f64 ``[M][N]``."""
    symmetric = np.tril(A) + np.tril(A, -1).T
    return {"C": alpha * (symmetric @ B) + beta * C}
