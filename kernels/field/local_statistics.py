"""Mean and variance of the windows of 9 x 9 around pixels. Class: windows of reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

RADIUS = 4

SIZES = {
    "bench": {"H": 1536, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 13, "W": 27},
    "tiny": {"H": 3, "W": 5},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W]``."""
    return {"img": rng.random((sizes["H"], sizes["W"]), dtype=np.float32)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``mean`` and ``variance`` f32 ``[H][W]``; the border repeats."""
    mean, square = (_mean(plane.astype(np.float64)) for plane in (img, img**2))
    return {"mean": mean.astype(np.float32), "variance": (square - mean**2).astype(np.float32)}


def _mean(plane: np.ndarray) -> np.ndarray:
    wide, side = np.pad(plane, RADIUS, mode="edge"), 2 * RADIUS + 1
    views = np.lib.stride_tricks.sliding_window_view
    return views(views(wide, side, 0).mean(axis=-1), side, 1).mean(axis=-1)


def pipeline() -> po.Scop:
    """The program: sums of the pixels and of their squares, along rows and then along columns."""
    size = [po.size("H"), po.size("W")]
    img, reach = po.input("img", po.f32, size), (-RADIUS, RADIUS + 1)
    area = (2 * RADIUS + 1) ** 2

    def mean(name: str, grid: po.Grid) -> po.Stage:
        wide = po.clamped(grid)
        rows = po.clamped(
            po.stage(f"{name}_rows", size, lambda y, x: po.sum(lambda k: wide[y, x + k], k=reach))
        )
        return po.stage(name, size, lambda y, x: po.sum(lambda k: rows[y + k, x], k=reach) / area)

    square = po.stage("square", size, lambda y, x: img[y, x] * img[y, x])
    first, second = mean("mean", img), mean("of_squares", square)
    variance = po.stage("variance", size, lambda y, x: second[y, x] - first[y, x] * first[y, x])
    return po.pipeline(first, variance, name="local_statistics", context=["H >= 1", "W >= 1"])


def opencv(
    cv2: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``blur`` and ``sqrBoxFilter``."""
    side, edge = (2 * RADIUS + 1, 2 * RADIUS + 1), cv2.BORDER_REPLICATE

    def call() -> dict[str, np.ndarray]:
        mean = cv2.blur(img, side, borderType=edge)
        square = cv2.sqrBoxFilter(img, cv2.CV_32F, side, borderType=edge)
        return {"mean": mean, "variance": cv2.subtract(square, cv2.multiply(mean, mean))}

    return call
