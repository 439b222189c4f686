"""An image of floats resized to any other size, bilinear. Class: gathers.

Behind others: pixels are gathered one by one here, by tables of weights there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1080, "W": 1920, "h": 1440, "w": 2560},
    "demo": {"H": 1080, "W": 1920, "h": 720, "w": 1280},
    "test": {"H": 8, "W": 16, "h": 11, "w": 23},
    "tiny": {"H": 1, "W": 1, "h": 1, "w": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``img`` f32 ``[H][W]``; ``scale_y``, ``scale_x`` f32: old over new size."""
    return {
        "img": rng.random((sizes["H"], sizes["W"]), dtype=np.float32),
        "scale_y": np.float32(sizes["H"] / sizes["h"]),
        "scale_x": np.float32(sizes["W"] / sizes["w"]),
    }


def reference(
    *, img: np.ndarray, scale_y: np.float32, scale_x: np.float32, h: int, w: int, **_sizes: int
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[h][w]``: centres of pixels lie on centres, the border repeats."""
    rows, fy = _places(h, scale_y, img.shape[0])
    columns, fx = _places(w, scale_x, img.shape[1])
    upper, lower = img[rows[0]], img[rows[1]]
    between = upper + fy[:, None] * (lower - upper)
    left, right = between[:, columns[0]], between[:, columns[1]]
    return {"out": left + fx * (right - left)}


def _places(count: int, scale: np.float32, size: int) -> tuple[list[np.ndarray], np.ndarray]:
    """The two neighbours of each new pixel, and how far it is from the first one."""
    at = (np.arange(count, dtype=np.float32) + np.float32(0.5)) * scale - np.float32(0.5)
    first = np.floor(at)
    index = first.astype(int)
    return [np.clip(index + k, 0, size - 1) for k in (0, 1)], at - first


def pipeline() -> po.Scop:
    """The program: rows between rows, then pixels between pixels."""
    height, width, h, w = (po.size(name) for name in ("H", "W", "h", "w"))
    img = po.input("img", po.f32, [height, width])
    scale_y, scale_x = po.scalar("scale_y", po.f32), po.scalar("scale_x", po.f32)

    def place(i: po.Term, scale: po.Term, size: po.Term) -> tuple[po.Term, po.Term, po.Term]:
        at = (po.cast(po.f32, i) + 0.5) * scale - 0.5
        first = po.cast(po.i32, po.floor(at))
        low, high = po.clamp(first, 0, size - 1), po.clamp(first + 1, 0, size - 1)
        return low, high, at - po.floor(at)

    def between_rows(y: po.Term, x: po.Term) -> po.Term:
        low, high, part = place(y, scale_y, height)
        return img[low, x] + part * (img[high, x] - img[low, x])

    rows = po.stage("rows", [h, width], between_rows)

    def between_pixels(y: po.Term, x: po.Term) -> po.Term:
        low, high, part = place(x, scale_x, width)
        return rows[y, low] + part * (rows[y, high] - rows[y, low])

    return po.pipeline(po.stage("out", [h, w], between_pixels), name="resize_bilinear")


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
    """``resize``, which knows the scales from the sizes."""
    del scale_y, scale_x
    return lambda: {"out": cv2.resize(img, (w, h), interpolation=cv2.INTER_LINEAR)}


def torch(
    torch: ModuleType,
    *,
    img: np.ndarray,
    scale_y: np.float32,
    scale_x: np.float32,
    h: int,
    w: int,
    **_sizes: int,
) -> Callable[[], dict[str, np.ndarray]]:
    """``interpolate``, which knows the scales from the sizes."""
    del scale_y, scale_x
    image, resize = torch.from_numpy(img)[None, None], torch.nn.functional.interpolate
    how = {"mode": "bilinear", "align_corners": False}
    return lambda: {"out": resize(image, size=(h, w), **how)[0, 0].numpy()}
