"""Restriction to the coarser grid of a multigrid solver. Class: C as people write it."""

from __future__ import annotations

from itertools import product

import numpy as np

SIZES = {
    "bench": {"m": 100},
    "demo": {"m": 32},
    "test": {"m": 4},
    "tiny": {"m": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``r`` f64 ``[2 m + 1][2 m + 1][2 m + 1]``."""
    return {"r": rng.standard_normal((2 * sizes["m"] + 1,) * 3)}


def reference(*, r: np.ndarray, m: int) -> dict[str, np.ndarray]:
    """``s`` f64 ``[m][m][m]``: half the weight for each step away from the centre."""
    s = np.zeros((m, m, m))
    for steps in product((0, 1, 2), repeat=3):
        off = sum(step != 1 for step in steps)
        s += 0.5 ** (off + 1) * r[tuple(slice(k, k + 2 * m - 1, 2) for k in steps)]
    return {"s": s}
