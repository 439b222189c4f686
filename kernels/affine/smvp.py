"""A sparse symmetric matrix of blocks times a vector: the reference of ``smvp.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 30_000, "M": 450_000},
    "demo": {"N": 3_000, "M": 30_000},
    "test": {"N": 13, "M": 40},
    "tiny": {"N": 1, "M": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` f64 ``[M][3][3]``, ``col`` i32 ``[M]``, ``start`` i32 ``[N + 1]``, ``v``, ``w`` f64
    ``[N][3]``. Each row has its diagonal block, then about ``M / N - 1`` others to the right of it.
    """
    n, m = sizes["N"], sizes["M"]
    rest = np.arange(n) < n - 1  # nothing is to the right of the last row's diagonal
    counts = np.ones(n, np.int64)
    if rest.any():
        counts[rest] += rng.multinomial(m - n, np.full(rest.sum(), 1 / rest.sum()))
    start = np.concatenate(([0], np.cumsum(counts)))
    row = np.repeat(np.arange(n), counts)
    col = np.zeros(m, np.int32)
    col[: len(row)] = rng.integers(np.minimum(row + 1, n - 1), n)
    col[start[:-1]] = np.arange(n)
    return {
        "A": rng.random((m, 3, 3)),
        "col": col,
        "start": start.astype(np.int32),
        "v": rng.random((n, 3)),
        "w": rng.random((n, 3)),
    }


def reference(
    *,
    A: np.ndarray,
    col: np.ndarray,
    start: np.ndarray,
    v: np.ndarray,
    w: np.ndarray,
    **_sizes: int,
) -> dict[str, np.ndarray]:
    """``w`` f64 ``[N][3]``."""
    w, used = w.copy(), int(start[-1])
    blocks, cols = A[:used], col[:used]
    row = np.repeat(np.arange(len(v)), np.diff(start))
    np.add.at(w, row, np.einsum("kij,kj->ki", blocks, v[cols]))
    mirrored = cols != row
    mirrored[start[:-1]] = False
    np.add.at(w, cols[mirrored], np.einsum("kji,kj->ki", blocks[mirrored], v[row[mirrored]]))
    return {"w": w}
