"""Successive over-relaxation for Poisson's equation on a square. Class: recurrences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"T": 8, "N": 1000},
    "demo": {"T": 4, "N": 300},
    "test": {"T": 3, "N": 11},
    "tiny": {"T": 1, "N": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``omega`` and ``h2`` f64, ``f`` and ``u`` f64 ``[N][N]``."""
    f, u = rng.standard_normal((2, sizes["N"], sizes["N"]))
    return {"omega": np.float64(1.7), "h2": np.float64(0.01), "f": f, "u": u}


def reference(
    *, omega: np.float64, h2: np.float64, f: np.ndarray, u: np.ndarray, T: int, N: int
) -> dict[str, np.ndarray]:
    """``u`` f64 ``[N][N]``, each sweep by antidiagonals."""
    u = u.copy()
    for _ in range(T):
        for diagonal in range(2, 2 * N - 3):
            i = np.arange(max(1, diagonal - N + 2), min(N - 2, diagonal - 1) + 1)
            j = diagonal - i
            around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            u[i, j] += omega * (0.25 * (around - h2 * f[i, j]) - u[i, j])
    return {"u": u}


def numba(
    numba: ModuleType,
    *,
    omega: np.float64,
    h2: np.float64,
    f: np.ndarray,
    u: np.ndarray,
    T: int,
    N: int,
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, on one thread; each call starts from the ``u`` that was given."""

    @numba.njit()
    def run(u: np.ndarray) -> None:
        for _ in range(T):
            for i in range(1, N - 1):
                for j in range(1, N - 1):
                    around = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
                    u[i, j] += omega * (0.25 * (around - h2 * f[i, j]) - u[i, j])

    def call() -> dict[str, np.ndarray]:
        result = u.copy()
        run(result)
        return {"u": result}

    return call
