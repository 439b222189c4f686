"""Gray's and Scott's reaction and diffusion of two substances. Class: time loops."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"T": 20, "H": 700, "W": 900},
    "demo": {"T": 10, "H": 300, "W": 400},
    "test": {"T": 4, "H": 9, "W": 13},
    "tiny": {"T": 1, "H": 3, "W": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``feed`` and ``kill`` f32; ``u`` in [0, 1) and ``v`` in [0, 1/4), f32 ``[H][W]``."""
    u, v = rng.random((2, sizes["H"], sizes["W"]), dtype=np.float32)
    return {"feed": np.float32(0.055), "kill": np.float32(0.062), "u": u, "v": v / np.float32(4)}


def reference(
    *, feed: np.float32, kill: np.float32, u: np.ndarray, v: np.ndarray, T: int, **_sizes: int
) -> dict[str, np.ndarray]:
    """``u`` and ``v`` after T steps; their borders stay."""
    u, v = u.copy(), v.copy()
    for _ in range(T):
        a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
        reacted = a * b * b
        new_u = a + np.float32(0.2) * _laplacian(u) - reacted + feed * (np.float32(1) - a)
        new_v = b + np.float32(0.1) * _laplacian(v) + reacted - (feed + kill) * b
        u[1:-1, 1:-1], v[1:-1, 1:-1] = new_u, new_v
    return {"u": u, "v": v}


def _laplacian(f: np.ndarray) -> np.ndarray:
    around = f[:-2, 1:-1] + f[2:, 1:-1] + f[1:-1, :-2] + f[1:-1, 2:]
    return around - np.float32(4) * f[1:-1, 1:-1]
