"""Correlations of variables over a population: the reference of ``correlation.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"M": 700, "N": 800},
    "demo": {"M": 300, "N": 400},
    "test": {"M": 7, "N": 11},
    "tiny": {"M": 1, "N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``data`` f64 ``[N][M]``."""
    return {"data": rng.standard_normal((sizes["N"], sizes["M"]))}


def reference(*, data: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``mean`` and ``stddev`` f64 ``[M]``, ``data`` scaled, ``corr`` f64 ``[M][M]``."""
    mean = data.mean(axis=0)
    stddev = data.std(axis=0)
    stddev[stddev <= 0.1] = 1
    data = (data - mean) / (np.sqrt(len(data)) * stddev)
    corr = data.T @ data
    np.fill_diagonal(corr, 1)
    return {"mean": mean, "stddev": stddev, "data": data, "corr": corr}
