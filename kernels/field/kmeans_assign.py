"""The nearest of K centres for each point, and how far it is. Class: argmin and argmax."""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 200_000, "D": 4, "K": 16},
    "demo": {"N": 10_000, "D": 4, "K": 16},
    "test": {"N": 101, "D": 3, "K": 7},
    "tiny": {"N": 1, "D": 1, "K": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``points`` f32 ``[N][D]``, ``centres`` f32 ``[K][D]``."""
    return {
        "points": rng.random((sizes["N"], sizes["D"]), dtype=np.float32),
        "centres": rng.random((sizes["K"], sizes["D"]), dtype=np.float32),
    }


def reference(*, points: np.ndarray, centres: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``nearest`` i32 ``[N]`` and ``distance`` f32 ``[N]``, squared."""
    squares = np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres])
    return {"nearest": squares.argmin(axis=0).astype(np.int32), "distance": squares.min(axis=0)}


def kmeans_assign(
    points: po.f32["N", "D"],
    centres: po.f32["K", "D"],
    nearest: po.i32["N"],
    distance: po.f32["N"],
) -> None:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    N, D = points.shape
    K = centres.shape[0]
    for i in range(N):
        best = np.float32(np.inf)
        index = np.int32(0)
        for k in range(K):
            total = np.float32(0)
            for d in range(D):
                step = points[i, d] - centres[k, d]
                total += step * step
            if total < best:
                best = total
                index = np.int32(k)
        nearest[i] = index
        distance[i] = best


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(kmeans_assign)


def numba(
    numba: ModuleType, *, points: np.ndarray, centres: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, points shared by threads."""

    @numba.njit(parallel=True)
    def run(nearest: np.ndarray, distance: np.ndarray) -> None:
        for i in numba.prange(points.shape[0]):
            best, index = np.float32(np.inf), 0
            for k in range(centres.shape[0]):
                total = np.float32(0)
                for d in range(points.shape[1]):
                    step = points[i, d] - centres[k, d]
                    total += step * step
                if total < best:
                    best, index = total, k
            nearest[i] = index
            distance[i] = best

    nearest, distance = np.empty(len(points), np.int32), np.empty(len(points), np.float32)

    def call() -> dict[str, np.ndarray]:
        run(nearest, distance)
        return {"nearest": nearest, "distance": distance}

    return call
