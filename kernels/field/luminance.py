"""The luminance of sRGB pixels, three bytes each. Class: math functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1080, "W": 1920},
    "demo": {"H": 720, "W": 1280},
    "test": {"H": 7, "W": 25},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u8 ``[H][W][3]``."""
    return {"img": rng.integers(0, 256, (sizes["H"], sizes["W"], 3), dtype=np.uint8)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W]``."""
    v = img.astype(np.float64) / 255
    light = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
    return {"out": (light @ np.array([0.2126, 0.7152, 0.0722])).astype(np.float32)}


def numba(
    numba: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """A table of 256 numbers, rows shared by threads."""
    v = np.arange(256) / 255
    table = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4).astype(np.float32)
    weights = np.array([0.2126, 0.7152, 0.0722], np.float32)

    @numba.njit(parallel=True)
    def run(img: np.ndarray, table: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        for y in numba.prange(img.shape[0]):
            for x in range(img.shape[1]):
                pixel = img[y, x]
                out[y, x] = (
                    weights[0] * table[pixel[0]]
                    + weights[1] * table[pixel[1]]
                    + weights[2] * table[pixel[2]]
                )

    out = np.empty(img.shape[:2], np.float32)

    def call() -> dict[str, np.ndarray]:
        run(img, table, weights, out)
        return {"out": out}

    return call
