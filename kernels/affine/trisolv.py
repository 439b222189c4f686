"""Equations with a triangular matrix: the reference of ``trisolv.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 15500},
    "demo": {"N": 2000},
    "test": {"N": 11},
    "tiny": {"N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``L`` f64 ``[N][N]``, whose diagonal outweighs its rows; ``b`` f64 ``[N]``."""
    n = sizes["N"]
    L = rng.random((n, n))
    L[np.diag_indices(n)] += n
    return {"L": L, "b": rng.standard_normal(n)}


def reference(*, L: np.ndarray, b: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``x`` f64 ``[N]``."""
    x = np.empty_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return {"x": x}
