"""Three matrix products: the reference of ``3mm.c``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

SIZES = {
    "bench": {"M": 440, "N": 440, "K": 440, "L": 440, "P": 440},
    "demo": {"M": 300, "N": 320, "K": 280, "L": 340, "P": 260},
    "test": {"M": 5, "N": 11, "K": 7, "L": 9, "P": 3},
    "tiny": {"M": 1, "N": 1, "K": 1, "L": 1, "P": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` ``[M][K]``, ``B`` ``[K][N]``, ``C`` ``[N][P]``, ``D`` ``[P][L]``, f64."""
    m, n, k, width, p = (sizes[name] for name in ("M", "N", "K", "L", "P"))
    shapes = {"A": (m, k), "B": (k, n), "C": (n, p), "D": (p, width)}
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()}


def reference(
    *, A: np.ndarray, B: np.ndarray, C: np.ndarray, D: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``E`` is ``A * B``, ``F`` is ``C * D``, ``G`` is ``E * F``."""
    E, F = A @ B, C @ D
    return {"E": E, "F": F, "G": E @ F}
