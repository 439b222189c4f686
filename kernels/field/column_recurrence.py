"""Two recurrences, one down columns, columns outside. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 1500},
    "demo": {"n": 300},
    "test": {"n": 13},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``aa``, ``bb`` and ``cc`` f32 ``[n][n]``."""
    n = sizes["n"]
    arrays = rng.standard_normal((3, n, n), dtype=np.float32)
    return dict(zip(("aa", "bb", "cc"), arrays, strict=True))


def reference(*, aa: np.ndarray, bb: np.ndarray, cc: np.ndarray, n: int) -> dict[str, np.ndarray]:
    """``aa`` and ``bb`` f32 ``[n][n]``."""
    aa, bb, half = aa.copy(), bb.copy(), np.float32(0.5)
    for k in range(1, n):
        aa[k, 1:] = half * aa[k - 1, 1:] + cc[k, 1:]
        bb[1:, k] = half * bb[1:, k - 1] + cc[1:, k]
    return {"aa": aa, "bb": bb}
