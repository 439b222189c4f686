"""The wave equation in two dimensions, states moved on by copies. Class: time loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"T": 20, "H": 1000, "W": 1200},
    "demo": {"T": 10, "H": 300, "W": 400},
    "test": {"T": 4, "H": 9, "W": 13},
    "tiny": {"T": 1, "H": 3, "W": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``c2`` f32, the square of the Courant number; ``old`` and ``now`` f32 ``[H][W]``."""
    old, now = rng.random((2, sizes["H"], sizes["W"]), dtype=np.float32)
    return {"c2": np.float32(0.3), "old": old, "now": now}


def reference(
    *, c2: np.float32, old: np.ndarray, now: np.ndarray, T: int, **_sizes: int
) -> dict[str, np.ndarray]:
    """``old`` and ``now`` after T steps; their borders stay."""
    old, now = old.copy(), now.copy()
    for _ in range(T):
        here = now[1:-1, 1:-1].copy()
        around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
        new = np.float32(2) * here - old[1:-1, 1:-1] + c2 * (around - np.float32(4) * here)
        old[1:-1, 1:-1], now[1:-1, 1:-1] = here, new
    return {"old": old, "now": now}


def numba(
    numba: ModuleType,
    *,
    c2: np.float32,
    old: np.ndarray,
    now: np.ndarray,
    T: int,
    H: int,
    W: int,
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads; each call starts from what was given."""

    @numba.njit(parallel=True)
    def run(old: np.ndarray, now: np.ndarray, new: np.ndarray) -> None:
        two, four = np.float32(2), np.float32(4)
        for _ in range(T):
            for y in numba.prange(1, H - 1):
                for x in range(1, W - 1):
                    around = now[y - 1, x] + now[y + 1, x] + now[y, x - 1] + now[y, x + 1]
                    new[y, x] = two * now[y, x] - old[y, x] + c2 * (around - four * now[y, x])
            for y in numba.prange(1, H - 1):
                for x in range(1, W - 1):
                    old[y, x] = now[y, x]
                    now[y, x] = new[y, x]

    new = np.empty_like(old)

    def call() -> dict[str, np.ndarray]:
        one, other = old.copy(), now.copy()
        run(one, other, new)
        return {"old": one, "now": other}

    return call
