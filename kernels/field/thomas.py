"""Many tridiagonal systems side by side, by Thomas' algorithm. Class: recurrences."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 512, "M": 1000},
    "demo": {"N": 128, "M": 256},
    "test": {"N": 9, "M": 13},
    "tiny": {"N": 1, "M": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Diagonals ``a``, ``b``, ``c`` and right-hand sides ``d`` f64 ``[N][M]``; ``b`` dominates."""
    a, c, d = rng.standard_normal((3, sizes["N"], sizes["M"]))
    return {"a": a, "b": 1 + np.abs(a) + np.abs(c), "c": c, "d": d}


def reference(
    *, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``x`` f64 ``[N][M]``, by elimination upwards: another order than the program's."""
    b, d, count = b.copy(), d.copy(), len(b)
    for i in range(count - 2, -1, -1):
        factor = c[i] / b[i + 1]
        b[i] -= factor * a[i + 1]
        d[i] -= factor * d[i + 1]
    x = np.empty_like(b)
    x[0] = d[0] / b[0]
    for i in range(1, count):
        x[i] = (d[i] - a[i] * x[i - 1]) / b[i]
    return {"x": x}
