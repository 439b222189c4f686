"""Rotary position embedding of queries. Class: math functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"S": 512, "H": 16, "D": 64},
    "demo": {"S": 128, "H": 8, "D": 32},
    "test": {"S": 5, "H": 3, "D": 7},
    "tiny": {"S": 1, "H": 1, "D": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``q`` f32 ``[S][H][2 D]``: a query for each position and head."""
    shape = (sizes["S"], sizes["H"], 2 * sizes["D"])
    return {"q": rng.standard_normal(shape, dtype=np.float32)}


def reference(*, q: np.ndarray, D: int, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[S][H][2 D]``."""
    one, other = q[:, :, :D], q[:, :, D:]
    turns = np.float32(10000) ** (-np.arange(D, dtype=np.float32) / np.float32(D))
    angle = (np.arange(len(q), dtype=np.float32)[:, None] * turns)[:, None]
    c, n = np.cos(angle), np.sin(angle)
    return {"out": np.concatenate([one * c - other * n, other * c + one * n], axis=2)}


def numba(
    numba: ModuleType, *, q: np.ndarray, D: int, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, positions shared by threads; angles once for all heads of one."""

    @numba.njit(parallel=True)
    def run(q: np.ndarray, out: np.ndarray, half: int) -> None:
        for s in numba.prange(len(q)):
            for d in range(half):
                turn = np.float32(10000) ** (-np.float32(d) / np.float32(half))
                angle = np.float32(s) * turn
                c, n = np.cos(angle), np.sin(angle)
                for h in range(q.shape[1]):
                    out[s, h, d] = q[s, h, d] * c - q[s, h, d + half] * n
                    out[s, h, d + half] = q[s, h, d + half] * c + q[s, h, d] * n

    out = np.empty_like(q)

    def call() -> dict[str, np.ndarray]:
        run(q, out, D)
        return {"out": out}

    return call
