"""Y'CbCr 4:2:0 of BT.601 to R'G'B' in integers, planes of 8 bits. Class: several results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 768, "W": 1024},
    "demo": {"H": 540, "W": 960},
    "test": {"H": 5, "W": 19},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``y`` u8 ``[2 H][2 W]``, ``u`` and ``v`` u8 ``[H][W]``."""
    height, width = sizes["H"], sizes["W"]
    u, v = rng.integers(16, 241, (2, height, width), dtype=np.uint8)
    return {
        "y": rng.integers(16, 236, (2 * height, 2 * width), dtype=np.uint8),
        "u": u,
        "v": v,
    }


def reference(
    *, y: np.ndarray, u: np.ndarray, v: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """Planes ``r``, ``g``, ``b`` u8 ``[2 H][2 W]``."""
    c = 298 * (y.astype(np.int32) - 16) + 128
    d, e = (p.repeat(2, axis=0).repeat(2, axis=1).astype(np.int32) - 128 for p in (u, v))
    planes = {"r": c + 409 * e, "g": c - 100 * d - 208 * e, "b": c + 516 * d}
    return {name: np.clip(p >> 8, 0, 255).astype(np.uint8) for name, p in planes.items()}


def numba(
    numba: ModuleType, *, y: np.ndarray, u: np.ndarray, v: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """One nest for all planes, rows shared by threads."""

    @numba.njit(parallel=True)
    def run(r: np.ndarray, g: np.ndarray, b: np.ndarray) -> None:
        for i in numba.prange(y.shape[0]):
            for j in range(y.shape[1]):
                c = 298 * (np.int32(y[i, j]) - 16) + 128
                d = np.int32(u[i // 2, j // 2]) - 128
                e = np.int32(v[i // 2, j // 2]) - 128
                r[i, j] = min(max((c + 409 * e) >> 8, 0), 255)
                g[i, j] = min(max((c - 100 * d - 208 * e) >> 8, 0), 255)
                b[i, j] = min(max((c + 516 * d) >> 8, 0), 255)

    r, g, b = np.empty_like(y), np.empty_like(y), np.empty_like(y)

    def call() -> dict[str, np.ndarray]:
        run(r, g, b)
        return {"r": r, "g": g, "b": b}

    return call
