"""Yee's scheme for electromagnetic waves of mode TM in a cavity. Class: time loops."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"T": 12, "N": 700},
    "demo": {"T": 10, "N": 200},
    "test": {"T": 4, "N": 11},
    "tiny": {"T": 1, "N": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Coefficients and the field ``ez`` f64 ``[N][N]``, the magnetic fields one less, ``pulse``."""
    n = sizes["N"]
    return {
        "ca": rng.uniform(0.9, 1, (n, n)),
        "cb": rng.uniform(0.3, 0.5, (n, n)),
        "pulse": rng.standard_normal(sizes["T"]),
        "ez": rng.standard_normal((n, n)),
        "hx": rng.standard_normal((n, n - 1)),
        "hy": rng.standard_normal((n - 1, n)),
    }


def reference(
    *,
    ca: np.ndarray,
    cb: np.ndarray,
    pulse: np.ndarray,
    ez: np.ndarray,
    hx: np.ndarray,
    hy: np.ndarray,
    N: int,
    **_sizes: int,
) -> dict[str, np.ndarray]:
    """The fields after T steps."""
    ez, hx, hy, inner = ez.copy(), hx.copy(), hy.copy(), (slice(1, -1), slice(1, -1))
    for value in pulse:
        hx -= 0.5 * np.diff(ez, axis=1)
        hy += 0.5 * np.diff(ez, axis=0)
        curl = np.diff(hy, axis=0)[:, 1:-1] - np.diff(hx, axis=1)[1:-1]
        ez[inner] = ca[inner] * ez[inner] + cb[inner] * curl
        ez[N // 2, N // 2] += value
    return {"ez": ez, "hx": hx, "hy": hy}
