"""A scaled vector added, gathered by an array of indices. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``s`` f32, ``ip`` i32 ``[n]``, ``b`` and ``a`` f32 ``[n]``."""
    n = sizes["n"]
    a, b = rng.standard_normal((2, n), dtype=np.float32)
    return {"s": np.float32(1.3), "ip": rng.integers(0, n, n, dtype=np.int32), "b": b, "a": a}


def reference(
    *, s: np.float32, ip: np.ndarray, b: np.ndarray, a: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``a`` f32 ``[n]``."""
    return {"a": a + s * b[ip]}
