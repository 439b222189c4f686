"""Stereo disparities by block matching with absolute differences. Class: argmin and argmax."""

from __future__ import annotations

import numpy as np

SHIFTS, SIDE = 16, 5

SIZES = {
    "bench": {"H": 240, "W": 339},
    "demo": {"H": 120, "W": 179},
    "test": {"H": 11, "W": 35},
    "tiny": {"H": 5, "W": 20},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``left`` and ``right`` u8 ``[H][W]``: the same texture, shifted by 3 and 9 pixels."""
    height, width = sizes["H"], sizes["W"]
    left = rng.integers(0, 256, (height, width), dtype=np.uint8)
    right = np.roll(left, -3, axis=1)
    right[height // 2 :] = np.roll(left[height // 2 :], -9, axis=1)
    return {"left": left, "right": right}


def reference(*, left: np.ndarray, right: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``disparity`` u8 ``[H - 4][W - 19]``."""
    views = np.lib.stride_tricks.sliding_window_view
    width = left.shape[1] - SHIFTS + 1
    sums = []
    for d in range(SHIFTS):
        one, other = left[:, SHIFTS - 1 :], right[:, SHIFTS - 1 - d :][:, :width]
        difference = np.abs(one.astype(np.int32) - other)
        sums.append(views(difference, (SIDE, SIDE)).sum(axis=(-2, -1)))
    return {"disparity": np.argmin(sums, axis=0).astype(np.uint8)}
