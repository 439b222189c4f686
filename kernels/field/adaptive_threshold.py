"""Adaptive threshold by the mean of a window of 11 x 11. Class: windows of reductions."""

from __future__ import annotations

import numpy as np

RADIUS = 5

SIZES = {
    "bench": {"H": 1536, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 9, "W": 29},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``less`` i32; ``img`` u8 ``[H][W]``."""
    img = rng.integers(0, 256, (sizes["H"], sizes["W"]), dtype=np.uint8)
    return {"less": np.int32(7), "img": img}


def reference(*, less: np.int32, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` u8 ``[H][W]``, 0 or 255; the border repeats."""
    wide, side = np.pad(img.astype(np.int64), RADIUS, mode="edge"), 2 * RADIUS + 1
    views = np.lib.stride_tricks.sliding_window_view
    total = views(views(wide, side, 0).sum(axis=-1), side, 1).sum(axis=-1)
    return {
        "out": np.where((img.astype(np.int64) + less) * side**2 > total, 255, 0).astype(np.uint8)
    }
