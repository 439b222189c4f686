"""Nussinov's folding of RNA: the reference of ``nussinov.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 1500},
    "demo": {"N": 400},
    "test": {"N": 13},
    "tiny": {"N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``seq`` i32 ``[N]``, bases 0 to 3; ``table`` i32 ``[N][N]``, zeros."""
    n = sizes["N"]
    return {
        "seq": rng.integers(0, 4, n, dtype=np.int32),
        "table": np.zeros((n, n), np.int32),
    }


def reference(*, seq: np.ndarray, table: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``table`` i32 ``[N][N]``, row by row from the last one."""
    table, n = table.copy(), len(seq)
    pairs = (seq[:, None] + seq == 3).astype(np.int32)
    for i in range(n - 2, -1, -1):
        row, below = table[i], table[i + 1]
        np.maximum(row[i + 1 :], below[i + 1 :], out=row[i + 1 :])
        np.maximum(row[i + 2 :], below[i + 1 : -1] + pairs[i, i + 2 :], out=row[i + 2 :])
        for k in range(i + 1, n):
            row[k] = max(row[k], row[k - 1])
            if k + 1 < n:
                np.maximum(row[k + 1 :], row[k] + table[k + 1, k + 1 :], out=row[k + 1 :])
    return {"table": table}
