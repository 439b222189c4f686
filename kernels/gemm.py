"""Matrix product: the reference of ``gemm.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"M": 1600, "N": 1600, "K": 1600},
    "demo": {"M": 512, "N": 512, "K": 512},
    "test": {"M": 5, "N": 11, "K": 7},
    "tiny": {"M": 1, "N": 1, "K": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``A`` f32 ``[M][K]``, ``B`` f32 ``[K][N]``, ``C`` f32 ``[M][N]``, ``alpha`` and ``beta``."""
    m, n, k = (sizes[name] for name in ("M", "N", "K"))
    return {
        "alpha": np.float32(1.5),
        "beta": np.float32(1.25),
        "A": rng.standard_normal((m, k), dtype=np.float32),
        "B": rng.standard_normal((k, n), dtype=np.float32),
        "C": rng.standard_normal((m, n), dtype=np.float32),
    }


def reference(
    *, alpha: float, beta: float, A: np.ndarray, B: np.ndarray, C: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``C`` f32 ``[M][N]``, ``alpha * A * B + beta * C``."""
    return {"C": np.float32(alpha) * (A @ B) + np.float32(beta) * C}
