"""The first element of each row above a threshold. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 4000, "m": 1000},
    "demo": {"n": 500, "m": 1000},
    "test": {"n": 9, "m": 150},
    "tiny": {"n": 1, "m": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``threshold`` f32, ``a`` f32 ``[n][m]``; every fourth row has none above."""
    a = rng.random((sizes["n"], sizes["m"]), dtype=np.float32)
    a[::4] *= np.float32(0.8)
    return {"threshold": np.float32(0.9), "a": a}


def reference(*, threshold: np.float32, a: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``first`` i32 ``[n]``."""
    above = a > threshold
    return {"first": np.where(above.any(axis=1), above.argmax(axis=1), -1).astype(np.int32)}
