"""A sparse matrix in compressed rows times a vector. Class: gathers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 200_000, "M": 4_000_000},
    "demo": {"N": 20_000, "M": 200_000},
    "test": {"N": 17, "M": 61},
    "tiny": {"N": 1, "M": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``start`` i32 ``[N + 1]``, ``col`` i32 ``[M]``, ``value`` f64 ``[M]``, ``x`` f64 ``[N]``.

    Rows have different numbers of elements, some of them none.
    """
    n, m = sizes["N"], sizes["M"]
    ends = np.sort(rng.integers(0, m, n - 1, endpoint=True))
    return {
        "start": np.concatenate(([0], ends, [m])).astype(np.int32),
        "col": rng.integers(0, n, m, dtype=np.int32),
        "value": rng.standard_normal(m),
        "x": rng.standard_normal(n),
    }


def reference(
    *, start: np.ndarray, col: np.ndarray, value: np.ndarray, x: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``y`` f64 ``[N]``."""
    row = np.repeat(np.arange(len(x)), np.diff(start))
    return {"y": np.bincount(row, weights=value * x[col], minlength=len(x))}


def scipy(
    scipy: ModuleType,
    *,
    start: np.ndarray,
    col: np.ndarray,
    value: np.ndarray,
    x: np.ndarray,
    **_sizes: int,
) -> Callable[[], dict[str, np.ndarray]]:
    """The product of ``sparse.csr_array``."""
    matrix = scipy.sparse.csr_array((value, col, start), shape=(len(x), len(x)))
    return lambda: {"y": matrix @ x}


def numba(
    numba: ModuleType,
    *,
    start: np.ndarray,
    col: np.ndarray,
    value: np.ndarray,
    x: np.ndarray,
    **_sizes: int,
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads."""

    @numba.njit(parallel=True)
    def run(y: np.ndarray) -> None:
        for i in numba.prange(len(y)):
            total = 0.0
            for k in range(start[i], start[i + 1]):
                total += value[k] * x[col[k]]
            y[i] = total

    y = np.empty_like(x)

    def call() -> dict[str, np.ndarray]:
        run(y)
        return {"y": y}

    return call
