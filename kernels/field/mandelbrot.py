"""The Mandelbrot set with a fixed number of iterations. Class: private scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

ITERATIONS = 64

SIZES = {
    "bench": {"H": 512, "W": 768},
    "demo": {"H": 400, "W": 600},
    "test": {"H": 9, "W": 21},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.generic]:
    """``left``, ``top`` and ``step`` f32 of the grid of points."""
    offset = rng.uniform(0, 0.01)
    return {
        "left": np.float32(offset - 2.1),
        "top": np.float32(offset - 1.1),
        "step": np.float32(2.2 / sizes["H"]),
    }


def reference(
    *, left: np.float32, top: np.float32, step: np.float32, H: int, W: int
) -> dict[str, np.ndarray]:
    """``count`` i32 ``[H][W]``."""
    cr = left + step * np.arange(W, dtype=np.float32)
    ci = (top + step * np.arange(H, dtype=np.float32))[:, None]
    zr, zi = np.zeros((2, H, W), np.float32)
    count = np.zeros((H, W), np.int32)
    for _ in range(ITERATIONS):
        r2, i2 = zr * zr, zi * zi
        near = r2 + i2 <= np.float32(4)
        zi = np.where(near, np.float32(2) * zr * zi + ci, zi)
        zr = np.where(near, r2 - i2 + cr, zr)
        count += near
    return {"count": count}


def numba(
    numba: ModuleType, *, left: np.float32, top: np.float32, step: np.float32, H: int, W: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops with an early exit, rows shared by threads."""
    most = ITERATIONS

    @numba.njit(parallel=True)
    def run(count: np.ndarray) -> None:
        for y in numba.prange(H):
            ci = top + step * np.float32(y)
            for x in range(W):
                cr = left + step * np.float32(x)
                zr = zi = np.float32(0)
                n = 0
                while n < most:
                    r2, i2 = zr * zr, zi * zi
                    if r2 + i2 > np.float32(4):
                        break
                    zi = np.float32(2) * zr * zi + ci
                    zr = r2 - i2 + cr
                    n += 1
                count[y, x] = n

    count = np.empty((H, W), np.int32)

    def call() -> dict[str, np.ndarray]:
        run(count)
        return {"count": count}

    return call
