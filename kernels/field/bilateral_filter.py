"""Bilateral filter of 5 x 5 with weights of space and of brightness. Class: larger code."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 720, "W": 1280},
    "demo": {"H": 720, "W": 1280},
    "test": {"H": 7, "W": 19},
    "tiny": {"H": 1, "W": 1},
}
RADIUS = 2
SPACE, BRIGHTNESS = 1.5, 0.2


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W]``."""
    return {"img": rng.random((sizes["H"], sizes["W"]), dtype=np.float32)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W]``, in double precision; the border repeats."""
    height, width = img.shape
    wide = np.pad(img.astype(np.float64), RADIUS, mode="edge")
    total, weights = np.zeros((2, height, width))
    for dy in range(2 * RADIUS + 1):
        for dx in range(2 * RADIUS + 1):
            other = wide[dy : dy + height, dx : dx + width]
            square = ((dy - RADIUS) ** 2 + (dx - RADIUS) ** 2) / SPACE**2
            weight = np.exp(-(square + ((other - img) / BRIGHTNESS) ** 2) / 2)
            total += weight * other
            weights += weight
    return {"out": (total / weights).astype(np.float32)}


def pipeline() -> po.Scop:
    """The program: sums of weighted pixels and of weights, and their ratio."""
    size = [po.size("H"), po.size("W")]
    img = po.clamped(po.input("img", po.f32, size))
    reach = range(-RADIUS, RADIUS + 1)

    def pixel(y: po.Term, x: po.Term) -> po.Term:
        total, weights = 0.0, 0.0
        for dy in reach:
            for dx in reach:
                space = math.exp(-(dy * dy + dx * dx) / (2 * SPACE**2))
                d = img[y + dy, x + dx] - img[y, x]
                weight = space * po.exp(d * d * (-0.5 / BRIGHTNESS**2))
                total = total + weight * img[y + dy, x + dx]
                weights = weights + weight
        return total / weights

    return po.pipeline(
        po.stage("out", size, pixel), name="bilateral_filter", context=["H >= 1", "W >= 1"]
    )


def numba(
    numba: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads."""
    radius = RADIUS
    steps = np.arange(-radius, radius + 1) ** 2
    space = np.exp(-np.add.outer(steps, steps) / (2 * SPACE**2)).astype(np.float32)
    factor = np.float32(-0.5 / BRIGHTNESS**2)

    @numba.njit(parallel=True)
    def run(img: np.ndarray, out: np.ndarray) -> None:
        height, width = img.shape
        for y in numba.prange(height):
            for x in range(width):
                total = weights = np.float32(0)
                for j in range(2 * radius + 1):
                    row = min(max(y + j - radius, 0), height - 1)
                    for i in range(2 * radius + 1):
                        other = img[row, min(max(x + i - radius, 0), width - 1)]
                        d = other - img[y, x]
                        weight = space[j, i] * np.exp(d * d * factor)
                        total += weight * other
                        weights += weight
                out[y, x] = total / weights

    out = np.empty_like(img)

    def call() -> dict[str, np.ndarray]:
        run(img, out)
        return {"out": out}

    return call
