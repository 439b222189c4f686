"""Dilation of an image of 8 bits by a square of 7 x 7. Class: windows of reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

RADIUS = 3

SIZES = {
    "bench": {"H": 2048, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 13, "W": 31},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u8 ``[H][W]``."""
    return {"img": rng.integers(0, 256, (sizes["H"], sizes["W"]), dtype=np.uint8)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` u8 ``[H][W]``: nothing beyond the border counts."""
    wide = np.pad(img, RADIUS)
    side = 2 * RADIUS + 1
    views = np.lib.stride_tricks.sliding_window_view
    return {"out": views(views(wide, side, 0).max(axis=-1), side, 1).max(axis=-1)}


def pipeline() -> po.Scop:
    """The program: one stage, a maximum over the window."""
    size = [po.size("H"), po.size("W")]
    img, reach = po.padded(po.input("img", po.u8, size), 0), (-RADIUS, RADIUS + 1)
    out = po.stage(
        "out", size, lambda y, x: po.max(lambda dy, dx: img[y + dy, x + dx], dy=reach, dx=reach)
    )
    return po.pipeline(out, name="dilate")


def opencv(
    cv2: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``dilate``."""
    square = np.ones((2 * RADIUS + 1, 2 * RADIUS + 1), np.uint8)
    return lambda: {"out": cv2.dilate(img, square)}


def scipy(
    scipy: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``ndimage.maximum_filter``."""
    most = scipy.ndimage.maximum_filter
    return lambda: {"out": most(img, 2 * RADIUS + 1, mode="constant")}
