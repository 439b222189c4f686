"""Two matrix products: the reference of ``2mm.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"M": 480, "N": 480, "K": 480, "L": 480},
    "demo": {"M": 300, "N": 320, "K": 280, "L": 340},
    "test": {"M": 5, "N": 11, "K": 7, "L": 9},
    "tiny": {"M": 1, "N": 1, "K": 1, "L": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` ``[M][K]``, ``B`` ``[K][N]``, ``C`` ``[N][L]``, ``D`` ``[M][L]``, f64; ``alpha`` and
    ``beta``.
    """
    m, n, k, width = (sizes[name] for name in ("M", "N", "K", "L"))
    return {
        "alpha": np.float64(1.5),
        "beta": np.float64(1.25),
        "A": rng.standard_normal((m, k)),
        "B": rng.standard_normal((k, n)),
        "C": rng.standard_normal((n, width)),
        "D": rng.standard_normal((m, width)),
    }


def reference(
    *,
    alpha: float,
    beta: float,
    A: np.ndarray,
    B: np.ndarray,
    C: np.ndarray,
    D: np.ndarray,
    **_sizes: int,
) -> dict[str, np.ndarray]:
    """``tmp`` is ``alpha * A * B``, ``D`` is ``tmp * C + beta * D``."""
    tmp = alpha * (A @ B)
    return {"tmp": tmp, "D": tmp @ C + beta * D}
