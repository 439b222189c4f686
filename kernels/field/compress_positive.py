"""The positive elements of an array, one after the other. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``b`` f32 ``[n]``; ``a`` f32 ``[n]``, of which the end stays."""
    a, b = rng.standard_normal((2, sizes["n"]), dtype=np.float32)
    return {"b": b, "a": a}


def reference(*, b: np.ndarray, a: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``a`` f32 ``[n]`` and ``count`` i32 ``[1]``."""
    kept, a = b[b > 0], a.copy()
    a[: len(kept)] = kept
    return {"a": a, "count": np.array([len(kept)], np.int32)}
