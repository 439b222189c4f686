"""A block-diagonal matrix times five unknowns per cell, in place. Class: C as people write it.

Behind others: clang makes faster code of these loops than gcc, which compiles ours.
"""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 100},
    "demo": {"n": 32},
    "test": {"n": 5},
    "tiny": {"n": 3},
}
NAMES = ("us", "vs", "ws", "qs", "speed")


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``bt`` f64, five fields f64 ``[n][n][n]``, and ``rhs`` f64 ``[n][n][n][5]``."""
    n = sizes["n"]
    fields = dict(zip(NAMES, rng.uniform(0.5, 1.5, (5, n, n, n)), strict=True))
    return {"bt": np.float64(0.5**0.5), **fields, "rhs": rng.standard_normal((n, n, n, 5))}


def reference(*, bt: np.float64, rhs: np.ndarray, **given: np.ndarray) -> dict[str, np.ndarray]:
    """``rhs`` f64 ``[n][n][n][5]``; the faces stay."""
    inner = (slice(1, -1),) * 3
    u, v, w, q, speed = (given[name][inner] for name in NAMES)
    r1, r2, r3, r4, r5 = np.moveaxis(rhs[inner], -1, 0)
    z = u / 2 + 1
    up = bt * z / speed * (r4 + r5)
    t2, t3 = r3 + up, bt * z * (r4 - r5)
    energy = z * (v * r1 - u * r2) + q * t2 + 2.5 * speed**2 * up + w * t3
    rhs = rhs.copy()
    rhs[inner] = np.stack([t2, u * t2 - z * r2, z * r1 + v * t2, w * t2 + t3, energy], axis=-1)
    return {"rhs": rhs}
