"""Softmax of the rows of a matrix, with the greatest element taken off. Class: fused reductions.

Behind others: sums of a row keep their order here; NumPy adds up in vectors, which
rounds otherwise.
"""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 2048, "C": 1024},
    "demo": {"N": 256, "C": 512},
    "test": {"N": 5, "C": 29},
    "tiny": {"N": 1, "C": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``x`` f32 ``[N][C]``, so great that exponentials of it would overflow."""
    return {"x": 90 * rng.standard_normal((sizes["N"], sizes["C"]), dtype=np.float32)}


def reference(*, x: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[N][C]``."""
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return {"out": power / power.sum(axis=1, keepdims=True)}


def softmax_rows(x: po.f32["N", "C"], out: po.f32["N", "C"]) -> None:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    N, C = x.shape
    for i in range(N):
        top = x[i, 0]
        for j in range(1, C):
            top = max(top, x[i, j])
        total = np.float32(0)
        for j in range(C):
            out[i, j] = np.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(C):
            out[i, j] = out[i, j] / total


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(softmax_rows)


def scipy(
    scipy: ModuleType, *, x: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``special.softmax``."""
    softmax = scipy.special.softmax
    return lambda: {"out": softmax(x, axis=1)}


def torch(
    torch: ModuleType, *, x: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``softmax``."""
    rows = torch.from_numpy(x)
    return lambda: {"out": torch.softmax(rows, 1).numpy()}


def numba(
    numba: ModuleType, *, x: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads."""

    @numba.njit(parallel=True)
    def run(x: np.ndarray, out: np.ndarray) -> None:
        for i in numba.prange(x.shape[0]):
            top = x[i, 0]
            for j in range(1, x.shape[1]):
                top = max(top, x[i, j])
            total = np.float32(0)
            for j in range(x.shape[1]):
                out[i, j] = np.exp(x[i, j] - top)
                total += out[i, j]
            for j in range(x.shape[1]):
                out[i, j] /= total

    out = np.empty_like(x)

    def call() -> dict[str, np.ndarray]:
        run(x, out)
        return {"out": out}

    return call
