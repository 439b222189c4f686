"""The heat equation on a rectangle, explicit, each step copied back. Class: time loops."""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

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
    """``alpha`` f32 and the temperature ``u`` f32 ``[H][W]``."""
    u = rng.random((sizes["H"], sizes["W"]), dtype=np.float32)
    return {"alpha": np.float32(0.2), "u": u}


def reference(*, alpha: np.float32, u: np.ndarray, T: int, **_sizes: int) -> dict[str, np.ndarray]:
    """``u`` f32 ``[H][W]`` after T steps; the border stays."""
    u = u.copy()
    for _ in range(T):
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + alpha * (around - np.float32(4) * u[1:-1, 1:-1])
    return {"u": u}


def heat_2d_copy(T: int, alpha: po.f32, u: po.f32["H", "W"]) -> None:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    H, W = u.shape
    new = np.empty((H, W), np.float32)
    for _ in range(T):
        for y in range(1, H - 1):
            for x in range(1, W - 1):
                around = u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1]
                new[y, x] = u[y, x] + alpha * (around - 4 * u[y, x])
        for y in range(1, H - 1):
            for x in range(1, W - 1):
                u[y, x] = new[y, x]


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(heat_2d_copy)


def numba(
    numba: ModuleType, *, alpha: np.float32, u: np.ndarray, T: int, H: int, W: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads; each call starts from what was given."""

    @numba.njit(parallel=True)
    def run(u: np.ndarray, new: np.ndarray) -> None:
        four = np.float32(4)
        for _ in range(T):
            for y in numba.prange(1, H - 1):
                for x in range(1, W - 1):
                    around = u[y - 1, x] + u[y + 1, x] + u[y, x - 1] + u[y, x + 1]
                    new[y, x] = u[y, x] + alpha * (around - four * u[y, x])
            for y in numba.prange(1, H - 1):
                for x in range(1, W - 1):
                    u[y, x] = new[y, x]

    new = np.empty_like(u)

    def call() -> dict[str, np.ndarray]:
        result = u.copy()
        run(result, new)
        return {"u": result}

    return call
