"""A square added to a packed triangle. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 2000, "flat_size": 2_001_000},
    "demo": {"n": 300, "flat_size": 45_150},
    "test": {"n": 13, "flat_size": 91},
    "tiny": {"n": 1, "flat_size": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``bb`` f32 ``[n][n]``; ``flat`` f32 of the triangle."""
    n, size = sizes["n"], sizes["flat_size"]
    return {
        "bb": rng.standard_normal((n, n), dtype=np.float32),
        "flat": rng.standard_normal(size, dtype=np.float32),
    }


def reference(*, bb: np.ndarray, flat: np.ndarray, n: int, **_sizes: int) -> dict[str, np.ndarray]:
    """``flat`` f32: row j of the lower triangle begins at j (j + 1) / 2."""
    rows, columns = np.tril_indices(n)
    return {"flat": flat + bb[rows, columns]}
