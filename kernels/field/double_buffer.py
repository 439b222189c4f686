"""A smoothing on a line, states in two halves of one array. Class: time loops."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"T": 100, "n": 400_000},
    "demo": {"T": 20, "n": 10_000},
    "test": {"T": 5, "n": 37},
    "tiny": {"T": 1, "n": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``u`` f32 ``[2][n]``; the ends of both states stay."""
    return {"u": rng.random((2, sizes["n"]), dtype=np.float32)}


def reference(*, u: np.ndarray, T: int, **_sizes: int) -> dict[str, np.ndarray]:
    """``u`` f32 ``[2][n]``: the last two states."""
    states, quarter = list(u.copy()), np.float32(0.25)
    for _ in range(T):
        old, new = states
        new[1:-1] = quarter * old[:-2] + np.float32(0.5) * old[1:-1] + quarter * old[2:]
        states = [new, old]
    return {"u": np.stack(states[::-1] if T % 2 else states)}
