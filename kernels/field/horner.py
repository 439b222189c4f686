"""A polynomial of degree 9 at many points by Horner's scheme. Class: single loops."""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 517},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``c`` f32 ``[10]``, of the highest power first; ``x`` f32 ``[n]`` in [-1, 1)."""
    return {
        "c": rng.standard_normal(10, dtype=np.float32),
        "x": rng.random(sizes["n"], dtype=np.float32) * np.float32(2) - np.float32(1),
    }


def reference(*, c: np.ndarray, x: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``y`` f32 ``[n]``."""
    return {"y": np.polyval(c, x)}


def horner(c: po.f32["10"], x: po.f32["n"], y: po.f32["n"]) -> None:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    for i in range(x.shape[0]):
        value = c[0]
        for k in range(1, 10):
            value = value * x[i] + c[k]
        y[i] = value


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(horner)


def numba(
    numba: ModuleType, *, c: np.ndarray, x: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, the outer one shared by threads."""

    @numba.njit(parallel=True)
    def run(c: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
        for i in numba.prange(len(x)):
            value = c[0]
            for k in range(1, 10):
                value = value * x[i] + c[k]
            y[i] = value

    y = np.empty_like(x)

    def call() -> dict[str, np.ndarray]:
        run(c, x, y)
        return {"y": y}

    return call
