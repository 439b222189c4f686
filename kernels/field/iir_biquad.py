"""A recursive filter of second order along many channels. Class: recurrences."""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"C": 64, "N": 48_000},
    "demo": {"C": 8, "N": 4_800},
    "test": {"C": 3, "N": 71},
    "tiny": {"C": 1, "N": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``x`` f32 ``[C][N]``; ``b`` f32 ``[3]`` and ``a`` f32 ``[2]`` of a low pass."""
    return {
        "x": rng.standard_normal((sizes["C"], sizes["N"]), dtype=np.float32),
        "b": np.array([0.0675, 0.1349, 0.0675], np.float32),
        "a": np.array([-1.1430, 0.4128], np.float32),
    }


def reference(
    *, x: np.ndarray, b: np.ndarray, a: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``y`` f32 ``[C][N]``, all channels at once, sample by sample."""
    y = np.zeros((x.shape[1] + 2, len(x)))
    fed = np.pad(x.T.astype(np.float64), ((2, 0), (0, 0)))
    for i in range(2, len(y)):
        y[i] = b[0] * fed[i] + b[1] * fed[i - 1] + b[2] * fed[i - 2]
        y[i] -= a[0] * y[i - 1] + a[1] * y[i - 2]
    return {"y": np.ascontiguousarray(y[2:].T).astype(np.float32)}


def iir_biquad(x: po.f32["C", "N"], b: po.f32["3"], a: po.f32["2"], y: po.f32["C", "N"]) -> None:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    C, N = x.shape
    for c in range(C):
        x1 = np.float32(0)
        x2 = np.float32(0)
        y1 = np.float32(0)
        y2 = np.float32(0)
        for i in range(N):
            value = b[0] * x[c, i] + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2
            x2 = x1
            x1 = x[c, i]
            y2 = y1
            y1 = value
            y[c, i] = value


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(iir_biquad)


def scipy(
    scipy: ModuleType, *, x: np.ndarray, b: np.ndarray, a: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``signal.lfilter``."""
    poles, lfilter = np.concatenate((np.ones(1, np.float32), a)), scipy.signal.lfilter
    return lambda: {"y": lfilter(b, poles, x, axis=1)}


def numba(
    numba: ModuleType, *, x: np.ndarray, b: np.ndarray, a: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, channels shared by threads."""

    @numba.njit(parallel=True)
    def run(x: np.ndarray, b: np.ndarray, a: np.ndarray, y: np.ndarray) -> None:
        for c in numba.prange(x.shape[0]):
            x1 = x2 = y1 = y2 = np.float32(0)
            for i in range(x.shape[1]):
                value = b[0] * x[c, i] + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2
                x2, x1, y2, y1 = x1, x[c, i], y1, value
                y[c, i] = value

    y = np.empty_like(x)

    def call() -> dict[str, np.ndarray]:
        run(x, b, a, y)
        return {"y": y}

    return call
