"""The heat equation in three dimensions: the reference of ``heat_3d.c``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

SIZES = {
    "bench": {"T": 50, "N": 140},
    "demo": {"T": 10, "N": 80},
    "test": {"T": 2, "N": 6},
    "tiny": {"T": 1, "N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Two grids ``A`` and ``B``, f64 ``[N][N][N]``."""
    n = sizes["N"]
    return {name: rng.random((n, n, n)) for name in ("A", "B")}


def reference(*, T: int, A: np.ndarray, B: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``A`` and ``B`` after T double steps."""
    A, B = A.copy(), B.copy()
    for _ in range(T):
        _step(A, B)
        _step(B, A)
    return {"A": A, "B": B}


def _step(old: np.ndarray, new: np.ndarray) -> None:
    """Writes the inner points of ``old``, one step later, into ``new``."""
    inner = old[1:-1, 1:-1, 1:-1]
    curved = old[2:, 1:-1, 1:-1] + old[:-2, 1:-1, 1:-1]
    curved += old[1:-1, 2:, 1:-1] + old[1:-1, :-2, 1:-1]
    curved += old[1:-1, 1:-1, 2:] + old[1:-1, 1:-1, :-2]
    new[1:-1, 1:-1, 1:-1] = inner + 0.125 * (curved - 6 * inner)
