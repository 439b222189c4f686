"""Lengths of shortest paths between all pairs of nodes: the reference of ``floyd_warshall.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 800},
    "demo": {"N": 300},
    "test": {"N": 11},
    "tiny": {"N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``path`` i32 ``[N][N]``, lengths of edges; none leads from a node to itself."""
    n = sizes["N"]
    path = rng.integers(1, 1000, (n, n), dtype=np.int32)
    np.fill_diagonal(path, 0)
    return {"path": path}


def reference(*, path: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``path`` i32 ``[N][N]``."""
    path = path.copy()
    for k in range(len(path)):
        np.minimum(path, path[:, k, None] + path[k], out=path)
    return {"path": path}
