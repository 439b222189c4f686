"""A step of conjugate gradients on the five-point Laplacian. Class: fused reductions.

Behind others: the product with the matrix is computed twice here, once for each sweep that reads
it.
"""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 1024},
    "demo": {"N": 300},
    "test": {"N": 13},
    "tiny": {"N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``p``, ``r``, ``x`` f64 ``[N][N]``; ``rr`` f64 ``[1]``, the square of the residual."""
    p, r, x = rng.standard_normal((3, sizes["N"], sizes["N"]))
    return {"p": p, "r": r, "x": x, "rr": np.array([np.vdot(r, r)])}


def reference(
    *, p: np.ndarray, r: np.ndarray, x: np.ndarray, rr: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """The same after the step."""
    wide = np.pad(p, 1)
    around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    q = 4 * p - around
    alpha = rr[0] / np.vdot(p, q)
    r = r - alpha * q
    square = np.vdot(r, r)
    return {
        "x": x + alpha * p,
        "r": r,
        "p": r + square / rr[0] * p,
        "rr": np.array([square]),
    }
