"""The greatest element of each row and where it is. Class: argmin and argmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 4000, "M": 1000},
    "demo": {"N": 500, "M": 1000},
    "test": {"N": 7, "M": 37},
    "tiny": {"N": 1, "M": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a`` f32 ``[N][M]``; of steps of 1/16, so that the greatest stands at several places."""
    steps = rng.integers(-64, 64, (sizes["N"], sizes["M"]))
    return {"a": (steps / 16).astype(np.float32)}


def reference(*, a: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``at`` i32 ``[N]`` and ``value`` f32 ``[N]``."""
    return {"at": a.argmax(axis=1).astype(np.int32), "value": a.max(axis=1)}


def numba(
    numba: ModuleType, *, a: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads."""

    @numba.njit(parallel=True)
    def run(a: np.ndarray, at: np.ndarray, value: np.ndarray) -> None:
        for i in numba.prange(a.shape[0]):
            index = 0
            for j in range(1, a.shape[1]):
                if a[i, j] > a[i, index]:
                    index = j
            at[i] = index
            value[i] = a[i, index]

    at, value = np.empty(len(a), np.int32), np.empty(len(a), np.float32)

    def call() -> dict[str, np.ndarray]:
        run(a, at, value)
        return {"at": at, "value": value}

    return call
