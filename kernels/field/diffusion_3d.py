"""Diffusion in a box with coefficients per cell, two arrays in turn. Class: time loops."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"T": 4, "N": 160},
    "demo": {"T": 3, "N": 64},
    "test": {"T": 2, "N": 7},
    "tiny": {"T": 1, "N": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``k``, ``u`` and ``v`` f32 ``[N][N][N]``; the faces of ``u`` and ``v`` stay."""
    k, u, v = rng.random((3, *[sizes["N"]] * 3), dtype=np.float32)
    return {"k": k / np.float32(8), "u": u, "v": v}


def reference(
    *, k: np.ndarray, u: np.ndarray, v: np.ndarray, T: int, **_sizes: int
) -> dict[str, np.ndarray]:
    """``u`` and ``v`` after 2 T steps."""
    fields, inner = [u.copy(), v.copy()], (slice(1, -1),) * 3
    for step in range(2 * T):
        old, new = fields[step % 2], fields[1 - step % 2]
        around = sum(np.roll(old, shift, axis)[inner] for axis in range(3) for shift in (1, -1))
        new[inner] = old[inner] + k[inner] * (around - np.float32(6) * old[inner])
    return {"u": fields[0], "v": fields[1]}
