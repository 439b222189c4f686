"""Covariances of variables over a population: the reference of ``covariance.c``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    """``mean`` f64 ``[M]``, ``data`` centred, ``cov`` f64 ``[M][M]``."""
    mean = data.mean(axis=0)
    data = data - mean
    return {"mean": mean, "data": data, "cov": data.T @ data / len(data)}
