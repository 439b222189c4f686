"""A dot product, unrolled by hand. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 303},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a`` and ``b`` f32 ``[n]``, positive."""
    a, b = rng.random((2, sizes["n"]), dtype=np.float32)
    return {"a": a, "b": b}


def reference(*, a: np.ndarray, b: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``dot`` f32 ``[1]``, in double precision."""
    total = np.dot(a.astype(np.float64), b)
    return {"dot": np.array([total], np.float32)}
