"""Jacobi's relaxation on a line, each step copied back. Class: time loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    import numpy as np

SIZES = {
    "bench": {"T": 100, "N": 400_000},
    "demo": {"T": 20, "N": 10_000},
    "test": {"T": 5, "N": 37},
    "tiny": {"T": 1, "N": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a`` f64 ``[N]``, and ``b`` f64 ``[N]``, whose ends stay."""
    a, b = rng.random((2, sizes["N"]))
    return {"a": a, "b": b}


def reference(*, a: np.ndarray, b: np.ndarray, T: int, **_sizes: int) -> dict[str, np.ndarray]:
    """``a`` and ``b`` after T steps."""
    a, b = a.copy(), b.copy()
    for _ in range(T):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = b[1:-1]
    return {"a": a, "b": b}


def numba(
    numba: ModuleType, *, a: np.ndarray, b: np.ndarray, T: int, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, each step shared by threads; each call starts from what was given."""

    @numba.njit(parallel=True)
    def run(a: np.ndarray, b: np.ndarray) -> None:
        for _ in range(T):
            for i in numba.prange(1, len(a) - 1):
                b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])
            for i in numba.prange(1, len(a) - 1):
                a[i] = b[i]

    def call() -> dict[str, np.ndarray]:
        one, other = a.copy(), b.copy()
        run(one, other)
        return {"a": one, "b": other}

    return call
