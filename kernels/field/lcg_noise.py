"""Noise of a linear congruential generator added to a signal. Class: recurrences.

Behind others: the author's loop jumps ahead in the sequence, which is a rewrite of the generator.
"""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``seed`` u32, ``level`` f32, ``x`` f32 ``[n]``."""
    x = rng.random(sizes["n"], dtype=np.float32)
    seed = rng.integers(0, 1 << 32, dtype=np.uint32)
    return {"seed": np.uint32(seed), "level": np.float32(0.25), "x": x}


def reference(
    *, seed: np.uint32, level: np.float32, x: np.ndarray, n: int
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[n]``; states by powers of the step, modulo 2^32."""
    factors = np.cumprod(np.full(n, 1664525, np.uint32), dtype=np.uint32)
    offsets = np.cumsum(np.r_[np.uint32(1), factors[:-1]], dtype=np.uint32)
    states = factors * seed + offsets * np.uint32(1013904223)
    noise = (states >> np.uint32(8)).astype(np.float32) * np.float32(2**-23) - np.float32(1)
    return {"out": x + level * noise}
