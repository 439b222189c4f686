"""Means of three elements of a ring, indices carried along. Class: C as people write it.

Behind others: clang makes faster code of these loops than gcc, which compiles ours.
"""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``b`` f32 ``[n]``."""
    return {"b": rng.standard_normal(sizes["n"], dtype=np.float32)}


def reference(*, b: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``a`` f32 ``[n]``."""
    return {"a": (b + np.roll(b, 1) + np.roll(b, 2)) * np.float32(0.333)}
