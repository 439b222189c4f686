"""The residual of a multigrid solver, partial sums in rows. Class: C as people write it."""

from __future__ import annotations

from itertools import product

import numpy as np

SIZES = {
    "bench": {"n": 160},
    "demo": {"n": 66},
    "test": {"n": 9},
    "tiny": {"n": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a`` f64 ``[4]``; ``u``, ``v`` and ``r`` f64 ``[n][n][n]``; the faces of ``r`` stay."""
    u, v, r = rng.standard_normal((3, *[sizes["n"]] * 3))
    return {"a": np.array([-8 / 3, 0, 1 / 6, 1 / 12]), "u": u, "v": v, "r": r}


def reference(
    *, a: np.ndarray, u: np.ndarray, v: np.ndarray, r: np.ndarray, n: int
) -> dict[str, np.ndarray]:
    """``r`` f64 ``[n][n][n]``; the weight of a neighbour goes by how many steps off it is."""
    total, r = np.zeros((n - 2,) * 3), r.copy()
    for steps in product((0, 1, 2), repeat=3):
        weight = a[sum(step != 1 for step in steps)]
        total += weight * u[tuple(slice(step, n - 2 + step) for step in steps)]
    r[1:-1, 1:-1, 1:-1] = v[1:-1, 1:-1, 1:-1] - total
    return {"r": r}
