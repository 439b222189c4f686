"""Median of 3 x 3 by a network of minima and maxima. Class: windows of reductions.

Behind others: the network of exchanges is shared between neighbouring windows there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 2048, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 9, "W": 37},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u8 ``[H][W]``."""
    return {"img": rng.integers(0, 256, (sizes["H"], sizes["W"]), dtype=np.uint8)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` u8 ``[H][W]``; the border repeats."""
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(img, 1, mode="edge"), (3, 3))
    return {"out": np.sort(windows.reshape(*img.shape, 9), axis=-1)[..., 4]}


def pipeline() -> po.Scop:
    """The program: least, middle and greatest of each column of three, then of these."""
    size = [po.size("H"), po.size("W")]
    img = po.clamped(po.input("img", po.u8, size))

    def middle(a: po.Term, b: po.Term, c: po.Term) -> po.Term:
        return po.max(po.min(a, b), po.min(po.max(a, b), c))

    def column(y: po.Term, x: po.Term) -> tuple[po.Term, po.Term, po.Term]:
        return img[y - 1, x], img[y, x], img[y + 1, x]

    low = po.clamped(po.stage("low", size, lambda y, x: po.min(*column(y, x))))
    mid = po.clamped(po.stage("mid", size, lambda y, x: middle(*column(y, x))))
    high = po.clamped(po.stage("high", size, lambda y, x: po.max(*column(y, x))))

    def median(y: po.Term, x: po.Term) -> po.Term:
        lows, mids, highs = ([g[y, x + k] for k in (-1, 0, 1)] for g in (low, mid, high))
        return middle(po.max(*lows), middle(*mids), po.min(*highs))

    return po.pipeline(
        po.stage("out", size, median), name="median_3x3", context=["H >= 1", "W >= 1"]
    )


def opencv(
    cv2: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``medianBlur``."""
    return lambda: {"out": cv2.medianBlur(img, 3)}


def scipy(
    scipy: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``ndimage.median_filter``."""
    median = scipy.ndimage.median_filter
    return lambda: {"out": median(img, 3, mode="nearest")}
