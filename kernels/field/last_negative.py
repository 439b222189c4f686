"""The last negative element of each row. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 2000, "m": 2000},
    "demo": {"n": 300, "m": 400},
    "test": {"n": 9, "m": 13},
    "tiny": {"n": 1, "m": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a`` f32 ``[n][m]``; some rows have no negative element."""
    a = rng.standard_normal((sizes["n"], sizes["m"]), dtype=np.float32)
    a[::3] = np.abs(a[::3])
    return {"a": a}


def reference(*, a: np.ndarray, m: int, **_sizes: int) -> dict[str, np.ndarray]:
    """``last`` i32 ``[n]``."""
    there = a < 0
    found = m - 1 - np.argmax(there[:, ::-1], axis=1)
    return {"last": np.where(there.any(axis=1), found, -1).astype(np.int32)}
