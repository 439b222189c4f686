"""Two streams packed into one by hand. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 2_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``b``, ``c``, ``d`` and ``e`` f32 ``[n]``."""
    arrays = rng.standard_normal((4, sizes["n"]), dtype=np.float32)
    return dict(zip("bcde", arrays, strict=True))


def reference(
    *, b: np.ndarray, c: np.ndarray, d: np.ndarray, e: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``a`` f32 ``[2 n]``."""
    return {"a": (np.stack([b, c]) + d * e).T.ravel()}
