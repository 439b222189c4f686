"""A lexicographic sweep of SSOR over cells of five unknowns. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 64},
    "demo": {"n": 24},
    "test": {"n": 6},
    "tiny": {"n": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``omega`` f64, three matrices f64 ``[5][5]``, and ``v`` f64 ``[n][n][n][5]``."""
    n = sizes["n"]
    matrices = dict(zip(("ldx", "ldy", "ldz"), rng.uniform(-0.1, 0.1, (3, 5, 5)), strict=True))
    return {"omega": np.float64(1.2), **matrices, "v": rng.standard_normal((n, n, n, 5))}


def reference(
    *, omega: np.float64, ldx: np.ndarray, ldy: np.ndarray, ldz: np.ndarray, v: np.ndarray, n: int
) -> dict[str, np.ndarray]:
    """``v`` f64 ``[n][n][n][5]``, by planes of equal sums of indices."""
    v, at = v.copy(), np.mgrid[1 : n - 1, 1 : n - 1, 1 : n - 1].reshape(3, -1)
    for total in range(3, 3 * (n - 2) + 1):
        k, j, i = at[:, at.sum(axis=0) == total]
        lower = v[k - 1, j, i] @ ldz.T + v[k, j - 1, i] @ ldy.T + v[k, j, i - 1] @ ldx.T
        v[k, j, i] -= omega * lower
    return {"v": v}
