"""Guided filter of an image by itself, windows of 9 x 9. Class: larger code."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "bench": {"H": 720, "W": 1280},
    "demo": {"H": 720, "W": 1280},
    "test": {"H": 7, "W": 19},
    "tiny": {"H": 1, "W": 2},
}
RADIUS, EPSILON = 4, 0.01


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W]``."""
    return {"img": rng.random((sizes["H"], sizes["W"]), dtype=np.float32)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W]``, in double precision; the border repeats."""
    wide = img.astype(np.float64)
    mean, square = _mean(wide), _mean(wide * wide)
    variance = square - mean * mean
    a = variance / (variance + EPSILON)
    return {"out": (_mean(a) * wide + _mean(mean - a * mean)).astype(np.float32)}


def _mean(plane: np.ndarray) -> np.ndarray:
    wide, side = np.pad(plane, RADIUS, mode="edge"), 2 * RADIUS + 1
    views = np.lib.stride_tricks.sliding_window_view
    return views(views(wide, side, 0).mean(axis=-1), side, 1).mean(axis=-1)


def pipeline() -> po.Scop:
    """The program: means of the image and its square, the linear model, means of its two parts."""
    size = [po.size("H"), po.size("W")]
    img = po.input("img", po.f32, size)

    def mean(name: str, grid: po.Grid) -> po.Stage:
        wide, side, reach = po.clamped(grid), 2 * RADIUS + 1, (-RADIUS, RADIUS + 1)
        rows = po.clamped(
            po.stage(f"{name}_rows", size, lambda y, x: po.sum(lambda k: wide[y, x + k], k=reach))
        )
        return po.stage(
            name, size, lambda y, x: po.sum(lambda k: rows[y + k, x], k=reach) / side**2
        )

    square = po.stage("square", size, lambda y, x: img[y, x] * img[y, x])
    of_image, of_square = mean("of_image", img), mean("of_square", square)

    def slope(y: po.Term, x: po.Term) -> po.Term:
        variance = of_square[y, x] - of_image[y, x] * of_image[y, x]
        return variance / (variance + EPSILON)

    a = po.stage("a", size, slope)
    b = po.stage("b", size, lambda y, x: of_image[y, x] - a[y, x] * of_image[y, x])
    of_a, of_b = mean("of_a", a), mean("of_b", b)
    out = po.stage("out", size, lambda y, x: of_a[y, x] * img[y, x] + of_b[y, x])
    return po.pipeline(out, name="guided_filter", context=["H >= 1", "W >= 1"])
