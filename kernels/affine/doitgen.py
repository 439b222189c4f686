"""Each row of a three-dimensional array times a matrix: the reference of ``doitgen.c``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

SIZES = {
    "bench": {"R": 150, "Q": 140, "P": 160},
    "demo": {"R": 50, "Q": 40, "P": 60},
    "test": {"R": 3, "Q": 5, "P": 7},
    "tiny": {"R": 1, "Q": 1, "P": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` f64 ``[R][Q][P]``, ``C4`` f64 ``[P][P]``."""
    r, q, p = (sizes[name] for name in ("R", "Q", "P"))
    return {"A": rng.standard_normal((r, q, p)), "C4": rng.standard_normal((p, p))}


def reference(*, A: np.ndarray, C4: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``A`` f64 ``[R][Q][P]``."""
    return {"A": A @ C4}
