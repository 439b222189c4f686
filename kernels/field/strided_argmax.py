"""The greatest magnitude of every so many elements. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 2_000_000, "inc": 3, "a_size": 6_000_000},
    "demo": {"n": 30_000, "inc": 3, "a_size": 90_000},
    "test": {"n": 33, "inc": 5, "a_size": 165},
    "tiny": {"n": 1, "inc": 1, "a_size": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a`` f32 ``[n inc]``; of steps of 1/8, so that the greatest stands at several places."""
    steps = rng.integers(-64, 65, sizes["a_size"])
    return {"a": (steps / 8).astype(np.float32)}


def reference(*, a: np.ndarray, inc: int, **_sizes: int) -> dict[str, np.ndarray]:
    """``best`` f32 ``[1]`` and ``index`` i32 ``[1]``, of the first one."""
    magnitude = np.abs(a[::inc])
    index = magnitude.argmax()
    return {"best": magnitude[index : index + 1], "index": np.array([index], np.int32)}
