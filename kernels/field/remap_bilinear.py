"""An image warped by a map of positions, bilinear. Class: gathers.

Behind others: pixels are gathered one by one here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1440, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 11, "W": 27},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W]``; ``map_x``, ``map_y`` f32 ``[H][W]``: a swirl and some noise.

    Some positions lie outside the image, where its border repeats. All are multiples of 1/32.
    """
    height, width = sizes["H"], sizes["W"]
    y, x = np.mgrid[:height, :width]
    shift = 3 * np.sin(y / 40) + rng.uniform(-1, 1, y.shape), 3 * np.cos(x / 40)
    map_x, map_y = (np.round(32 * (at + d)) / 32 for at, d in zip((x, y), shift, strict=True))
    return {
        "img": rng.random((height, width), dtype=np.float32),
        "map_x": map_x.astype(np.float32),
        "map_y": map_y.astype(np.float32),
    }


def reference(
    *, img: np.ndarray, map_x: np.ndarray, map_y: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W]``."""
    (y, fy), (x, fx) = ((np.floor(m).astype(int), m - np.floor(m)) for m in (map_y, map_x))
    rows = [np.clip(y + k, 0, img.shape[0] - 1) for k in (0, 1)]
    columns = [np.clip(x + k, 0, img.shape[1] - 1) for k in (0, 1)]
    upper, lower = ((1 - fx) * img[row, columns[0]] + fx * img[row, columns[1]] for row in rows)
    return {"out": (1 - fy) * upper + fy * lower}


def pipeline() -> po.Scop:
    """The program: one stage that reads four pixels where the map says."""
    size = h, w = po.size("H"), po.size("W")
    img = po.input("img", po.f32, size)
    map_x, map_y = po.input("map_x", po.f32, size), po.input("map_y", po.f32, size)

    def warped(y: po.Term, x: po.Term) -> po.Term:
        left, top = po.floor(map_x[y, x]), po.floor(map_y[y, x])
        fx, fy = map_x[y, x] - left, map_y[y, x] - top
        ix, iy = po.cast(po.i32, left), po.cast(po.i32, top)

        def at(dy: int, dx: int) -> po.Term:
            return img[po.clamp(iy + dy, 0, h - 1), po.clamp(ix + dx, 0, w - 1)]

        upper = (1 - fx) * at(0, 0) + fx * at(0, 1)
        lower = (1 - fx) * at(1, 0) + fx * at(1, 1)
        return (1 - fy) * upper + fy * lower

    return po.pipeline(po.stage("out", size, warped), name="remap_bilinear")


def opencv(
    cv2: ModuleType, *, img: np.ndarray, map_x: np.ndarray, map_y: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``remap``, which takes positions in steps of 1/32 pixel."""
    how = {"interpolation": cv2.INTER_LINEAR, "borderMode": cv2.BORDER_REPLICATE}
    return lambda: {"out": cv2.remap(img, map_x, map_y, **how)}


def scipy(
    scipy: ModuleType, *, img: np.ndarray, map_x: np.ndarray, map_y: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``ndimage.map_coordinates`` of order one."""
    at = np.stack([map_y, map_x])
    warp = scipy.ndimage.map_coordinates
    return lambda: {"out": warp(img, at, order=1, mode="nearest")}
