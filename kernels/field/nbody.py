"""Accelerations of bodies that attract each other. Class: private scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 4000},
    "demo": {"N": 1000},
    "test": {"N": 23},
    "tiny": {"N": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``soft`` f32, ``pos`` f32 ``[N][3]``, ``mass`` f32 ``[N]``."""
    return {
        "soft": np.float32(0.01),
        "pos": rng.standard_normal((sizes["N"], 3), dtype=np.float32),
        "mass": rng.random(sizes["N"], dtype=np.float32),
    }


def reference(
    *, soft: np.float32, pos: np.ndarray, mass: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``acc`` f32 ``[N][3]``, in double precision."""
    at, found = pos.astype(np.float64), np.empty(pos.shape)
    for i, here in enumerate(at):
        step = at - here
        found[i] = (mass / ((step**2).sum(axis=1) + soft) ** 1.5) @ step
    return {"acc": found.astype(np.float32)}


def numba(
    numba: ModuleType, *, soft: np.float32, pos: np.ndarray, mass: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, bodies shared by threads."""

    @numba.njit(parallel=True)
    def run(acc: np.ndarray) -> None:
        one = np.float32(1)
        for i in numba.prange(len(pos)):
            ax = ay = az = np.float32(0)
            for j in range(len(pos)):
                dx = pos[j, 0] - pos[i, 0]
                dy = pos[j, 1] - pos[i, 1]
                dz = pos[j, 2] - pos[i, 2]
                r = one / np.sqrt(dx * dx + dy * dy + dz * dz + soft)
                s = mass[j] * r * r * r
                ax += s * dx
                ay += s * dy
                az += s * dz
            acc[i, 0], acc[i, 1], acc[i, 2] = ax, ay, az

    acc = np.empty_like(pos)

    def call() -> dict[str, np.ndarray]:
        run(acc)
        return {"acc": acc}

    return call
