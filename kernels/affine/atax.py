"""A matrix and then its transpose times a vector: the reference of ``atax.c``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

SIZES = {
    "bench": {"M": 14000, "N": 16000},
    "demo": {"M": 1900, "N": 2100},
    "test": {"M": 11, "N": 7},
    "tiny": {"M": 1, "N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` f64 ``[M][N]``, ``x`` f64 ``[N]``."""
    m, n = sizes["M"], sizes["N"]
    return {"A": rng.standard_normal((m, n)), "x": rng.standard_normal(n)}


def reference(*, A: np.ndarray, x: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``y`` f64 ``[N]``."""
    return {"y": (A @ x) @ A}
