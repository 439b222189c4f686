"""Every so many elements take off others, counted backwards. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 4_000_000, "count": 1_300_000, "first": 5, "inc": 3},
    "demo": {"n": 100_000, "count": 30_000, "first": 2, "inc": 3},
    "test": {"n": 101, "count": 17, "first": 4, "inc": 5},
    "tiny": {"n": 3, "count": 1, "first": 0, "inc": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a`` and ``b`` f32 ``[n]``."""
    a, b = rng.standard_normal((2, sizes["n"]), dtype=np.float32)
    return {"a": a, "b": b}


def reference(
    *, a: np.ndarray, b: np.ndarray, count: int, first: int, inc: int, **_sizes: int
) -> dict[str, np.ndarray]:
    """``a`` f32 ``[n]``."""
    a = a.copy()
    a[first : first + count * inc : inc] += b[::-1][:count]
    return {"a": a}
