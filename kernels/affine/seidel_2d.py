"""Gauss and Seidel's nine-point stencil in place: the reference of ``seidel_2d.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"T": 40, "N": 1000},
    "demo": {"T": 4, "N": 500},
    "test": {"T": 3, "N": 9},
    "tiny": {"T": 1, "N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` f64 ``[N][N]``."""
    n = sizes["N"]
    return {"A": rng.random((n, n))}


def reference(*, T: int, A: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``A`` after T sweeps, each by wavefronts.

    A point needs the new values of its neighbours above and to its left. So the points with equal
    ``2 * i + j`` can change together; in memory they are ``N - 2`` apart.
    """
    A = np.ascontiguousarray(A).copy()
    n, flat = len(A), A.reshape(-1)
    offsets = [n * di + dj for di in (-1, 0, 1) for dj in (-1, 0, 1)]
    for _ in range(T):
        for wave in range(3, 3 * n - 5):
            first = max(1, (wave - n + 3) // 2)
            last = min(n - 2, (wave - 1) // 2)
            start, end = first * (n - 2) + wave, last * (n - 2) + wave
            total = sum(flat[start + k : end + k + 1 : n - 2] for k in offsets)
            flat[start : end + 1 : n - 2] = total / 9
    return {"A": A}
