"""LU decomposition by Doolittle, rows folded by hand. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"size": 512},
    "demo": {"size": 128},
    "test": {"size": 13},
    "tiny": {"size": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a`` f32 ``[size][size]``, whose diagonal dominates."""
    n = sizes["size"]
    a = rng.standard_normal((n, n), dtype=np.float32)
    return {"a": a + np.float32(4 * n) * np.eye(n, dtype=np.float32)}


def reference(*, a: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``a`` f32 ``[size][size]``: both triangles, by elimination in double precision."""
    a = a.astype(np.float64)
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return {"a": a.astype(np.float32)}
