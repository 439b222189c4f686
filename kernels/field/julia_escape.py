"""How long points of a Julia set stay near, with an exit. Class: private scalars."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"H": 384, "W": 512},
    "demo": {"H": 400, "W": 600},
    "test": {"H": 9, "W": 21},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.generic]:
    """``cr`` and ``ci`` f64, the set, and ``step`` f64 of the grid."""
    turn = rng.uniform(0, 2 * np.pi)
    return {
        "cr": np.float64(0.7885 * np.cos(turn)),
        "ci": np.float64(0.7885 * np.sin(turn)),
        "step": np.float64(2.6 / sizes["H"]),
    }


def reference(
    *, cr: np.float64, ci: np.float64, step: np.float64, H: int, W: int
) -> dict[str, np.ndarray]:
    """``count`` i32 ``[H][W]``."""
    zr = np.tile((np.arange(W) - W // 2) * step, (H, 1))
    zi = np.tile((np.arange(H)[:, None] - H // 2) * step, (1, W))
    count = np.zeros((H, W), np.int32)
    for _ in range(50):
        near = zr * zr + zi * zi < 4
        old = zr[near], zi[near]
        zr[near] = old[0] * old[0] - old[1] * old[1] + cr
        zi[near] = 2 * old[0] * old[1] + ci
        count += near
    return {"count": count}
