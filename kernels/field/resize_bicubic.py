"""An image of 8 bits resized to any other size, bicubic. Class: gathers.

Behind others: bytes are gathered one by one, of which compilers make no vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

#: the parameter of the cubic kernel, as in OpenCV and torch
A = -0.75

SIZES = {
    "bench": {"H": 768, "W": 1024, "h": 1280, "w": 1792},
    "demo": {"H": 1080, "W": 1920, "h": 720, "w": 1280},
    "test": {"H": 8, "W": 16, "h": 11, "w": 23},
    "tiny": {"H": 1, "W": 1, "h": 1, "w": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``img`` u8 ``[H][W]``; ``scale_y``, ``scale_x`` f32: old over new size."""
    return {
        "img": rng.integers(0, 256, (sizes["H"], sizes["W"]), dtype=np.uint8),
        "scale_y": np.float32(sizes["H"] / sizes["h"]),
        "scale_x": np.float32(sizes["W"] / sizes["w"]),
    }


def reference(
    *, img: np.ndarray, scale_y: np.float32, scale_x: np.float32, h: int, w: int, **_sizes: int
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[h][w]``, not saturated."""
    rows, columns = (
        _resampling(*given) for given in ((h, scale_y, img.shape[0]), (w, scale_x, img.shape[1]))
    )
    return {"out": (rows @ img.astype(np.float64) @ columns.T).astype(np.float32)}


def _resampling(count: int, scale: np.float32, size: int) -> np.ndarray:
    """f64 ``[count][size]``: the weight of each old pixel in each new one."""
    at = (np.arange(count, dtype=np.float32) + np.float32(0.5)) * scale - np.float32(0.5)
    matrix = np.zeros((count, size))
    for k in range(-1, 3):
        index = np.floor(at).astype(int) + k
        distance = np.abs(at - index).astype(np.float64)
        near = (A + 2) * distance**3 - (A + 3) * distance**2 + 1
        far = A * (distance**3 - 5 * distance**2 + 8 * distance - 4)
        weight = np.where(distance <= 1, near, far)
        np.add.at(matrix, (np.arange(count), np.clip(index, 0, size - 1)), weight)
    return matrix


def pipeline() -> po.Scop:
    """The program: one stage that reads 4 x 4 pixels."""
    height, width, h, w = (po.size(name) for name in ("H", "W", "h", "w"))
    img = po.input("img", po.u8, [height, width])
    scale_y, scale_x = po.scalar("scale_y", po.f32), po.scalar("scale_x", po.f32)

    def weights(t: po.Term) -> list[po.Term]:
        def near(d: po.Term) -> po.Term:
            return ((A + 2) * d - (A + 3)) * d * d + 1

        def far(d: po.Term) -> po.Term:
            return ((A * d - 5 * A) * d + 8 * A) * d - 4 * A

        return [far(t + 1), near(t), near(1 - t), far(2 - t)]

    def sampled(y: po.Term, x: po.Term) -> po.Term:
        at_y = (po.cast(po.f32, y) + 0.5) * scale_y - 0.5
        at_x = (po.cast(po.f32, x) + 0.5) * scale_x - 0.5
        top, left = po.cast(po.i32, po.floor(at_y)) - 1, po.cast(po.i32, po.floor(at_x)) - 1
        rows, columns = weights(at_y - po.floor(at_y)), weights(at_x - po.floor(at_x))
        total = 0.0
        for j, wy in enumerate(rows):
            row = po.clamp(top + j, 0, height - 1)
            pixels = (img[row, po.clamp(left + i, 0, width - 1)] for i in range(4))
            total = total + wy * sum(
                wx * po.cast(po.f32, p) for wx, p in zip(columns, pixels, strict=True)
            )
        return total

    return po.pipeline(po.stage("out", [h, w], sampled), name="resize_bicubic")


def opencv(
    cv2: ModuleType,
    *,
    img: np.ndarray,
    scale_y: np.float32,
    scale_x: np.float32,
    h: int,
    w: int,
    **_sizes: int,
) -> Callable[[], dict[str, np.ndarray]]:
    """``resize`` of the image in floats."""
    del scale_y, scale_x
    cubic = cv2.INTER_CUBIC
    return lambda: {"out": cv2.resize(img.astype(np.float32), (w, h), interpolation=cubic)}
