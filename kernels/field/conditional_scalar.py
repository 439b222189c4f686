"""A difference kept where one array is greater than another. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a``, ``b``, ``c`` and ``d`` f32 ``[n]``."""
    arrays = rng.standard_normal((4, sizes["n"]), dtype=np.float32)
    return dict(zip("abcd", arrays, strict=True))


def reference(
    *, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``a`` and ``c`` f32 ``[n]``."""
    kept = a - b * d
    return {"a": np.where(a > b, kept, a), "c": np.where(a > b, c + kept, c)}
