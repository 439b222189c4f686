"""The two products of the biconjugate gradient method: the reference of ``bicg.c``."""

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
    """``A`` f64 ``[M][N]``, ``p`` f64 ``[N]``, ``r`` f64 ``[M]``."""
    m, n = sizes["M"], sizes["N"]
    return {
        "A": rng.standard_normal((m, n)),
        "p": rng.standard_normal(n),
        "r": rng.standard_normal(m),
    }


def reference(
    *, A: np.ndarray, p: np.ndarray, r: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``s`` f64 ``[N]``, ``q`` f64 ``[M]``."""
    return {"s": r @ A, "q": A @ p}
