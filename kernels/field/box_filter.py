"""Box filter of any radius, separable, borders mirrored. Class: windows of reductions.

Behind others: windows of floats are running sums there, which round in another order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1536, "W": 2048, "R": 7},
    "demo": {"H": 1080, "W": 1920, "R": 7},
    "test": {"H": 11, "W": 29, "R": 3},
    "tiny": {"H": 1, "W": 1, "R": 0},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W]``; ``R`` is the radius."""
    return {"img": rng.random((sizes["H"], sizes["W"]), dtype=np.float32)}


def reference(*, img: np.ndarray, R: int, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W]``: means over windows of 2 R + 1 in both directions."""
    windows, width = np.lib.stride_tricks.sliding_window_view, 2 * R + 1
    rows = windows(np.pad(img, ((0, 0), (R, R)), mode="symmetric"), width, 1).mean(axis=-1)
    return {
        "out": windows(np.pad(rows, ((R, R), (0, 0)), mode="symmetric"), width, 0).mean(axis=-1)
    }


def pipeline() -> po.Scop:
    """The program: sums along rows, then along columns, then the mean."""
    h, w, r = po.size("H"), po.size("W"), po.size("R")
    img = po.mirrored(po.input("img", po.f32, [h, w]))
    rows = po.mirrored(
        po.stage("rows", [h, w], lambda y, x: po.sum(lambda k: img[y, x + k], k=(-r, r + 1)))
    )
    total = po.stage("total", [h, w], lambda y, x: po.sum(lambda k: rows[y + k, x], k=(-r, r + 1)))
    area = po.cast(po.f32, (2 * r + 1) * (2 * r + 1))
    out = po.stage("out", [h, w], lambda y, x: total[y, x] / area)
    return po.pipeline(
        out, name="box_filter", context=["R >= 0", "H >= R", "W >= R", "H >= 1", "W >= 1"]
    )


def opencv(
    cv2: ModuleType, *, img: np.ndarray, R: int, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``blur``."""
    side, edge = (2 * R + 1, 2 * R + 1), cv2.BORDER_REFLECT
    return lambda: {"out": cv2.blur(img, side, borderType=edge)}


def scipy(
    scipy: ModuleType, *, img: np.ndarray, R: int, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``ndimage.uniform_filter``."""
    uniform = scipy.ndimage.uniform_filter
    return lambda: {"out": uniform(img, 2 * R + 1, mode="reflect")}
