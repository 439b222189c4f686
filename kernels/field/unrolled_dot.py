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
    """``a`` and ``b`` f64 ``[n]``, positive."""
    a, b = rng.random((2, sizes["n"]))
    return {"a": a, "b": b}


def reference(*, a: np.ndarray, b: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``dot`` f64 ``[1]``."""
    return {"dot": np.array([np.dot(a, b)])}
