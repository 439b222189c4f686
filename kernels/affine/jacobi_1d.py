"""Jacobi's three-point stencil between two buffers: the reference of ``jacobi_1d.c``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

SIZES = {
    "bench": {"T": 2000, "N": 400000},
    "demo": {"T": 100, "N": 100000},
    "test": {"T": 3, "N": 13},
    "tiny": {"T": 1, "N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Two rows ``A`` and ``B``, f64 ``[N]``."""
    n = sizes["N"]
    return {name: rng.random(n) for name in ("A", "B")}


def reference(*, T: int, A: np.ndarray, B: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``A`` and ``B`` after T double steps."""
    A, B = A.copy(), B.copy()
    for _ in range(T):
        _step(A, B)
        _step(B, A)
    return {"A": A, "B": B}


def _step(old: np.ndarray, new: np.ndarray) -> None:
    """Writes the means of ``old`` over each inner point's neighbourhood into ``new``."""
    new[1:-1] = 0.33333 * (old[:-2] + old[1:-1] + old[2:])
