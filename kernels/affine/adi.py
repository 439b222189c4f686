"""The heat equation by alternating directions: the reference of ``adi.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"T": 20, "N": 1000},
    "demo": {"T": 4, "N": 300},
    "test": {"T": 2, "N": 9},
    "tiny": {"T": 1, "N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``u``, ``v``, ``p`` and ``q`` f64 ``[N][N]``, and the coefficients of the scheme."""
    n, steps = sizes["N"], sizes["T"]
    along_x, along_y = 2 * n * n / steps, n * n / steps
    grids = {name: rng.random((n, n)) for name in ("u", "v", "p", "q")}
    return {
        "a": np.float64(-along_x / 2),
        "b": np.float64(1 + along_x),
        "d": np.float64(-along_y / 2),
        "e": np.float64(1 + along_y),
        **grids,
    }


def reference(
    *,
    T: int,
    a: float,
    b: float,
    d: float,
    e: float,
    u: np.ndarray,
    v: np.ndarray,
    p: np.ndarray,
    q: np.ndarray,
    **_sizes: int,
) -> dict[str, np.ndarray]:
    """``u``, and what the last step left in ``v``, ``p`` and ``q``."""
    u, v, p, q = u.copy(), v.copy(), p.copy(), q.copy()
    for _ in range(T):
        # what goes along columns goes along the rows of the transposed grid
        _half(a, b, d, u.T, v.T, p, q)
        _half(d, e, a, v, u, p, q)
    return {"u": u, "v": v, "p": p, "q": q}


def _half(
    a: float, b: float, d: float, old: np.ndarray, new: np.ndarray, p: np.ndarray, q: np.ndarray
) -> None:
    """Half a step: ``new`` along each inner row from ``old`` across the rows."""
    rows = slice(1, -1)
    across = -d * old[:-2] + (1 + 2 * d) * old[1:-1] - d * old[2:]
    new[rows, 0] = 1
    p[rows, 0], q[rows, 0] = 0, 1
    for j in range(1, old.shape[1] - 1):
        below = a * p[rows, j - 1] + b
        p[rows, j] = -a / below
        q[rows, j] = (across[:, j] - a * q[rows, j - 1]) / below
    new[rows, -1] = 1
    for j in range(old.shape[1] - 2, 0, -1):
        new[rows, j] = p[rows, j] * new[rows, j + 1] + q[rows, j]
