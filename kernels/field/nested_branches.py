"""Branches that change what later ones look at. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a`` to ``e`` f32 ``[n]``."""
    arrays = rng.standard_normal((5, sizes["n"]), dtype=np.float32)
    return dict(zip("abcde", arrays, strict=True))


def reference(
    *, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, e: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``a``, ``b`` and ``c`` f32 ``[n]``."""
    positive = a > 0
    b = np.where(positive, b, d * d - b)
    above = ~positive & (b > a)
    c = np.where(positive, e * e - c, np.where(above, c + d * e, c))
    return {"a": np.where(positive | above, b + c * d, a), "b": b, "c": c}
