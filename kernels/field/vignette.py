"""An image that fades to its corners, a Gaussian each way. Class: math functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1440, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 7, "W": 25},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``img`` f32 ``[H][W]``; ``strength`` f32."""
    img = rng.random((sizes["H"], sizes["W"]), dtype=np.float32)
    return {"img": img, "strength": np.float32(1.5)}


def reference(*, img: np.ndarray, strength: np.float32, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W]``."""
    rows, columns = (np.exp(-strength * ((np.arange(n) - n / 2) / n) ** 2) for n in img.shape)
    return {"out": (img * rows[:, None] * columns).astype(np.float32)}


def numba(
    numba: ModuleType, *, img: np.ndarray, strength: np.float32, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The factors of a column once for all rows, rows shared by threads."""

    @numba.njit(parallel=True)
    def run(img: np.ndarray, strength: np.float32, out: np.ndarray) -> None:
        half = np.float32(0.5)
        height, width = np.float32(img.shape[0]), np.float32(img.shape[1])
        columns = np.empty(img.shape[1], np.float32)
        for x in range(img.shape[1]):
            dx = (np.float32(x) - width * half) / width
            columns[x] = np.exp(-strength * dx * dx)
        for y in numba.prange(img.shape[0]):
            dy = (np.float32(y) - height * half) / height
            row = np.exp(-strength * dy * dy)
            for x in range(img.shape[1]):
                out[y, x] = img[y, x] * columns[x] * row

    out = np.empty_like(img)

    def call() -> dict[str, np.ndarray]:
        run(img, strength, out)
        return {"out": out}

    return call
