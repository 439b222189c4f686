"""Compositing of premultiplied RGBA pixels of 8 bits by "over". Class: interleaved channels."""

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


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``front`` and ``back`` u8 ``[H][W][4]``; no colour is greater than its alpha."""
    shape = sizes["H"], sizes["W"], 4
    found = {}
    for name in ("front", "back"):
        pixels = rng.integers(0, 256, shape, dtype=np.uint8)
        pixels[..., :3] = np.minimum(pixels[..., :3], pixels[..., 3:])
        found[name] = pixels
    return found


def reference(*, front: np.ndarray, back: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` u8 ``[H][W][4]``."""
    exact = back.astype(np.int64) * (255 - front[..., 3:].astype(np.int64))
    shade = (2 * exact + 255) // 510
    return {"out": np.minimum(front + shade, 255).astype(np.uint8)}


def numba(
    numba: ModuleType, *, front: np.ndarray, back: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads."""

    @numba.njit(parallel=True)
    def run(front: np.ndarray, back: np.ndarray, out: np.ndarray) -> None:
        for y in numba.prange(front.shape[0]):
            for x in range(front.shape[1]):
                clear = np.uint32(255) - np.uint32(front[y, x, 3])
                for c in range(4):
                    t = np.uint32(back[y, x, c]) * clear + np.uint32(128)
                    total = np.uint32(front[y, x, c]) + ((t + (t >> 8)) >> 8)
                    out[y, x, c] = min(total, np.uint32(255))

    out = np.empty_like(front)

    def call() -> dict[str, np.ndarray]:
        run(front, back, out)
        return {"out": out}

    return call
