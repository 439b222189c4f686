"""The sum of two matrix-vector products: the reference of ``gesummv.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 11000},
    "demo": {"N": 2000},
    "test": {"N": 11},
    "tiny": {"N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` and ``B`` f64 ``[N][N]``, ``x`` f64 ``[N]``, ``alpha`` and ``beta``."""
    n = sizes["N"]
    return {
        "alpha": np.float64(1.5),
        "beta": np.float64(1.25),
        "A": rng.standard_normal((n, n)),
        "B": rng.standard_normal((n, n)),
        "x": rng.standard_normal(n),
    }


def reference(
    *, alpha: float, beta: float, A: np.ndarray, B: np.ndarray, x: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``y`` f64 ``[N]``."""
    return {"y": alpha * (A @ x) + beta * (B @ x)}
