"""Samples that stand out are cut and marked, few of them. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``limit`` f32, ``x`` f32 ``[n]``, ``mark`` u8 ``[n]``."""
    x = rng.standard_normal(sizes["n"], dtype=np.float32)
    return {"limit": np.float32(3), "x": x, "mark": rng.integers(0, 2, len(x), dtype=np.uint8)}


def reference(
    *, limit: np.float32, x: np.ndarray, mark: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``y`` f32 ``[n]`` and ``mark`` u8 ``[n]``."""
    mean = np.float32(0.5) * (x[:-2] + x[2:])
    off, y, mark = x[1:-1] - mean, x.copy(), mark.copy()
    y[1:-1] = np.where(np.abs(off) > limit, mean + np.clip(off, -limit, limit), x[1:-1])
    mark[1:-1][np.abs(off) > limit] = 1
    return {"y": y, "mark": mark}
