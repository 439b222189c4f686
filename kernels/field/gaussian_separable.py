"""Separable Gaussian of 15 taps that are given. Class: windows of reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

RADIUS = 7

SIZES = {
    "bench": {"H": 1536, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 9, "W": 33},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W]``; ``taps`` f32 ``[15]`` of a Gaussian, which add up to one."""
    taps = np.exp(-0.5 * (np.arange(-RADIUS, RADIUS + 1) / 2.5) ** 2)
    return {
        "img": rng.random((sizes["H"], sizes["W"]), dtype=np.float32),
        "taps": (taps / taps.sum()).astype(np.float32),
    }


def reference(*, img: np.ndarray, taps: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W]``; the border repeats."""
    views = np.lib.stride_tricks.sliding_window_view
    wide = np.pad(img, RADIUS, mode="edge")
    return {"out": views(views(wide, len(taps), 0) @ taps, len(taps), 1) @ taps}


def pipeline() -> po.Scop:
    """The program: along columns, then along rows."""
    size = [po.size("H"), po.size("W")]
    img = po.clamped(po.input("img", po.f32, size))
    taps = po.input("taps", po.f32, [2 * RADIUS + 1])
    width = 2 * RADIUS + 1
    columns = po.clamped(
        po.stage(
            "columns",
            size,
            lambda y, x: po.sum(lambda k: taps[k] * img[y + k - RADIUS, x], k=width),
        )
    )
    out = po.stage(
        "out", size, lambda y, x: po.sum(lambda k: taps[k] * columns[y, x + k - RADIUS], k=width)
    )
    return po.pipeline(out, name="gaussian_separable", context=["H >= 1", "W >= 1"])


def opencv(
    cv2: ModuleType, *, img: np.ndarray, taps: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``sepFilter2D``."""
    edge = cv2.BORDER_REPLICATE
    return lambda: {"out": cv2.sepFilter2D(img, -1, taps, taps, borderType=edge)}


def scipy(
    scipy: ModuleType, *, img: np.ndarray, taps: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``ndimage.correlate1d`` in both directions."""
    filtered = scipy.ndimage.correlate1d
    return lambda: {
        "out": filtered(filtered(img, taps, 0, mode="nearest"), taps, 1, mode="nearest")
    }
