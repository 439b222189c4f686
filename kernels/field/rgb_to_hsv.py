"""R'G'B' to hue, saturation and value, planes of floats. Class: several results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1536, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 7, "W": 29},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[3][H][W]``, planes R, G, B in [0, 1); a tenth of the pixels are grey."""
    img = rng.random((3, sizes["H"], sizes["W"]), dtype=np.float32)
    grey = rng.random((sizes["H"], sizes["W"])) < 0.1
    img[:, grey] = img[0, grey]
    return {"img": img}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``hue`` in degrees, ``saturation`` and ``value`` in [0, 1], f32 ``[H][W]``."""
    r, g, b = img
    value, least = img.max(axis=0), img.min(axis=0)
    chroma = value - least
    divisor = np.where(chroma == 0, np.float32(1), chroma)
    sector = np.select(
        [chroma == 0, value == r, value == g],
        [np.zeros_like(r), (g - b) / divisor, (b - r) / divisor + np.float32(2)],
        (r - g) / divisor + np.float32(4),
    )
    hue = np.float32(60) * np.where(sector < 0, sector + np.float32(6), sector)
    saturation = np.where(value == 0, 0, chroma / np.where(value == 0, 1, value))
    return {"hue": hue, "saturation": saturation.astype(np.float32), "value": value}


def pipeline() -> po.Scop:
    """The program: value and chroma first, hue and saturation of both."""
    size = [po.size("H"), po.size("W")]
    img = po.input("img", po.f32, [3, *size])
    value = po.stage("value", size, lambda y, x: po.max(*(img[c, y, x] for c in range(3))))
    chroma = po.stage(
        "chroma", size, lambda y, x: value[y, x] - po.min(*(img[c, y, x] for c in range(3)))
    )

    def degrees(y: po.Term, x: po.Term) -> po.Term:
        r, g, b, high = img[0, y, x], img[1, y, x], img[2, y, x], value[y, x]
        divisor = po.select(chroma[y, x] == 0, 1.0, chroma[y, x])
        of_red = po.select(g < b, (g - b) / divisor + 6, (g - b) / divisor)
        of_others = po.select(high == g, (b - r) / divisor + 2, (r - g) / divisor + 4)
        return po.select(chroma[y, x] == 0, 0.0, 60 * po.select(high == r, of_red, of_others))

    hue = po.stage("hue", size, degrees)
    saturation = po.stage(
        "saturation",
        size,
        lambda y, x: po.select(value[y, x] == 0, 0.0, chroma[y, x] / value[y, x]),
    )
    return po.pipeline(hue, saturation, value, name="rgb_to_hsv")


def opencv(
    cv2: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``cvtColor`` of the interleaved image."""
    interleaved = np.ascontiguousarray(np.moveaxis(img, 0, -1))

    def call() -> dict[str, np.ndarray]:
        planes = cv2.split(cv2.cvtColor(interleaved, cv2.COLOR_RGB2HSV))
        return dict(zip(("hue", "saturation", "value"), planes, strict=True))

    return call
