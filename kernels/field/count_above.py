"""How many elements are above a threshold, and their sum. Class: fused reductions."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``threshold`` f32, ``a`` f32 ``[n]``."""
    a = rng.random(sizes["n"], dtype=np.float32)
    return {"threshold": np.float32(0.4), "a": a}


def reference(*, threshold: np.float32, a: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``count`` i32 ``[1]`` and ``sum`` f64 ``[1]``."""
    above = a[a > threshold]
    return {
        "count": np.array([len(above)], np.int32),
        "sum": above.sum(dtype=np.float64, keepdims=True),
    }
