"""Five binomial blurs of one image, of growing width. Class: several results."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

#: the blur of radius r has 2 r + 1 taps in each direction
RADII = (1, 2, 3, 4, 5)

SIZES = {
    "bench": {"H": 1536, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 15, "W": 33},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W]`` in [0, 1)."""
    return {"img": rng.random((sizes["H"], sizes["W"]), dtype=np.float32)}


def taps(radius: int) -> list[float]:
    """Binomial weights, which add up to one."""
    order = 2 * radius
    return [comb(order, k) / 2**order for k in range(order + 1)]


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``blur1`` to ``blur5`` f32 ``[H][W]``; the border repeats."""
    found = {}
    for radius in RADII:
        weights = np.array(taps(radius), np.float32)
        wide = np.pad(img, ((0, 0), (radius, radius)), mode="edge")
        rows = np.lib.stride_tricks.sliding_window_view(wide, len(weights), 1) @ weights
        tall = np.pad(rows, ((radius, radius), (0, 0)), mode="edge")
        found[f"blur{radius}"] = (
            np.lib.stride_tricks.sliding_window_view(tall, len(weights), 0) @ weights
        )
    return found


def pipeline() -> po.Scop:
    """The program: along rows, then along columns, for each radius."""
    size = [po.size("H"), po.size("W")]
    img = po.clamped(po.input("img", po.f32, size))
    return po.pipeline([_blur(img, size, radius) for radius in RADII], name="five_blurs")


def _blur(img: po.Grid, size: list[po.Term], radius: int) -> po.Stage:
    weights = list(enumerate(taps(radius), -radius))
    rows = po.clamped(
        po.stage(f"rows{radius}", size, lambda y, x: sum(w * img[y, x + k] for k, w in weights))
    )
    return po.stage(f"blur{radius}", size, lambda y, x: sum(w * rows[y + k, x] for k, w in weights))


def opencv(
    cv2: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``sepFilter2D`` for each radius."""
    weights = {radius: np.array(taps(radius), np.float32) for radius in RADII}
    edge = cv2.BORDER_REPLICATE
    return lambda: {
        f"blur{radius}": cv2.sepFilter2D(img, -1, w, w, borderType=edge)
        for radius, w in weights.items()
    }


def scipy(
    scipy: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``ndimage.correlate1d`` in both directions for each radius."""
    filtered = scipy.ndimage.correlate1d

    def call() -> dict[str, np.ndarray]:
        found = {}
        for radius in RADII:
            rows = filtered(img, taps(radius), axis=1, mode="nearest")
            found[f"blur{radius}"] = filtered(rows, taps(radius), axis=0, mode="nearest")
        return found

    return call
