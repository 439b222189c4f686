"""A matrix and its transpose times a vector each: the reference of ``mvt.c``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

SIZES = {
    "bench": {"N": 8000},
    "demo": {"N": 2000},
    "test": {"N": 11},
    "tiny": {"N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` f64 ``[N][N]``, the vectors f64 ``[N]``."""
    n = sizes["N"]
    vectors = {name: rng.standard_normal(n) for name in ("x1", "x2", "y1", "y2")}
    return {"A": rng.standard_normal((n, n)), **vectors}


def reference(
    *, A: np.ndarray, x1: np.ndarray, x2: np.ndarray, y1: np.ndarray, y2: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``x1`` and ``x2`` f64 ``[N]``."""
    return {"x1": x1 + A @ y1, "x2": x2 + y2 @ A}
