"""Symmetric update of rank 2 K: the reference of ``syr2k.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 1000, "K": 800},
    "demo": {"N": 400, "K": 300},
    "test": {"N": 11, "K": 7},
    "tiny": {"N": 1, "K": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` and ``B`` f64 ``[N][K]``, ``C`` f64 ``[N][N]``, ``alpha`` and ``beta``."""
    n, k = sizes["N"], sizes["K"]
    return {
        "alpha": np.float64(1.5),
        "beta": np.float64(1.25),
        "A": rng.standard_normal((n, k)),
        "B": rng.standard_normal((n, k)),
        "C": rng.standard_normal((n, n)),
    }


def reference(
    *, alpha: float, beta: float, A: np.ndarray, B: np.ndarray, C: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``C`` with its lower triangle updated."""
    updated = alpha * (A @ B.T + B @ A.T) + beta * C
    return {"C": np.tril(updated) + np.triu(C, 1)}
