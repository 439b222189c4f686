"""A recurrence between statements that have none. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 1_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a``, ``b``, ``c`` and ``e`` f32 ``[n]``."""
    arrays = rng.standard_normal((4, sizes["n"]), dtype=np.float32)
    return dict(zip("abce", arrays, strict=True))


def reference(
    *, a: np.ndarray, b: np.ndarray, c: np.ndarray, e: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``a`` and ``e`` f32 ``[n]``."""
    a = a.copy()
    a[1:] += b[1:] * c[1:]
    total = e[:1].tolist()
    for value in a[1:].tolist():
        total.append(0.5 * total[-1] + value)
    e = np.array(total, np.float32)
    a[1:] -= b[1:] * e[1:]
    return {"a": a, "e": e}
