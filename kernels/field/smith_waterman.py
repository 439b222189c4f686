"""Local alignment of Smith and Waterman, affine gaps by Gotoh. Class: dynamic programming."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 1500, "m": 1500},
    "demo": {"n": 400, "m": 500},
    "test": {"n": 19, "m": 27},
    "tiny": {"n": 1, "m": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``a`` i32 ``[n]``, ``b`` i32 ``[m]`` of four letters, and what letters and gaps count."""
    scores = {"match": 5, "mismatch": 3, "open": 7, "extend": 1}
    return {
        **{name: np.int32(value) for name, value in scores.items()},
        "a": rng.integers(0, 4, sizes["n"], dtype=np.int32),
        "b": rng.integers(0, 4, sizes["m"], dtype=np.int32),
    }


def reference(
    *, a: np.ndarray, b: np.ndarray, n: int, m: int, **scores: np.int32
) -> dict[str, np.ndarray]:
    """``h`` i32 ``[n + 1][m + 1]`` and ``best`` i32 ``[1]``, by antidiagonals."""
    match, mismatch, gap, extend = (int(scores[k]) for k in ("match", "mismatch", "open", "extend"))
    h = np.zeros((n + 1, m + 1), np.int32)
    e, f = np.full_like(h, -100000), np.full_like(h, -100000)
    for diagonal in range(2, n + m + 1):
        i = np.arange(max(1, diagonal - m), min(n, diagonal - 1) + 1)
        j = diagonal - i
        e[i, j] = np.maximum(e[i, j - 1] - extend, h[i, j - 1] - gap)
        f[i, j] = np.maximum(f[i - 1, j] - extend, h[i - 1, j] - gap)
        score = h[i - 1, j - 1] + np.where(a[i - 1] == b[j - 1], match, -mismatch)
        h[i, j] = np.maximum.reduce([score, np.zeros_like(score), e[i, j], f[i, j]])
    return {"h": h, "best": np.array([h.max()], np.int32)}
