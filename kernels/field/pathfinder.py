"""The cheapest way down a grid of costs, row by row. Class: C as people write it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"rows": 100, "cols": 100_000},
    "demo": {"rows": 20, "cols": 10_000},
    "test": {"rows": 6, "cols": 23},
    "tiny": {"rows": 1, "cols": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``wall`` i32 ``[rows][cols]``, costs below 10."""
    return {"wall": rng.integers(0, 10, (sizes["rows"], sizes["cols"]), dtype=np.int32)}


def reference(*, wall: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``dst`` i32 ``[cols]``."""
    found = wall[0]
    for costs in wall[1:]:
        wide = np.pad(found, 1, mode="edge")
        found = costs + np.minimum(found, np.minimum(wide[:-2], wide[2:]))
    return {"dst": found.copy()}


def numba(
    numba: ModuleType, *, wall: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, each row shared by threads."""

    @numba.njit(parallel=True)
    def run(src: np.ndarray, dst: np.ndarray) -> None:
        rows, cols = wall.shape
        dst[:] = wall[0]
        for t in range(1, rows):
            src[:] = dst
            for n in numba.prange(cols):
                least = src[n]
                if n > 0:
                    least = min(least, src[n - 1])
                if n < cols - 1:
                    least = min(least, src[n + 1])
                dst[n] = wall[t, n] + least

    src, dst = np.empty_like(wall[0]), np.empty_like(wall[0])

    def call() -> dict[str, np.ndarray]:
        run(src, dst)
        return {"dst": dst}

    return call
