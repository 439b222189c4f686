"""Jacobi's five-point stencil between two buffers: the reference of ``jacobi_2d.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"T": 200, "N": 2000},
    "demo": {"T": 10, "N": 1000},
    "test": {"T": 3, "N": 9},
    "tiny": {"T": 1, "N": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Two grids ``A`` and ``B``, f32 ``[N][N]``."""
    n = sizes["N"]
    return {name: rng.random((n, n), dtype=np.float32) for name in ("A", "B")}


def reference(*, T: int, A: np.ndarray, B: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``A`` and ``B`` after T double steps."""
    A, B = A.copy(), B.copy()
    for _ in range(T):
        _step(A, B)
        _step(B, A)
    return {"A": A, "B": B}


def _step(old: np.ndarray, new: np.ndarray) -> None:
    """Writes the means of ``old`` over each inner point's neighbourhood into ``new``."""
    sums = old[1:-1, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:] + old[2:, 1:-1] + old[:-2, 1:-1]
    new[1:-1, 1:-1] = np.float32(0.2) * sums
