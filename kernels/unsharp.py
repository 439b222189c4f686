"""Unsharp masking of a colour image: the reference of ``unsharp.c``."""

from __future__ import annotations

import math

import numpy as np

SIGMA = 1.5

SIZES = {
    "bench": {"H": 2560, "W": 1536},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 9, "W": 13},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[3][H][W]``, planes R, G, B in [0.002, 1.002): never black."""
    image = rng.random((3, sizes["H"], sizes["W"]), dtype=np.float32)
    return {"img": image + np.float32(0.002)}


def from_photo(photo: np.ndarray) -> dict[str, np.ndarray]:
    """The photograph's planes in [0.002, 1.002]."""
    planes = np.moveaxis(photo, -1, 0).astype(np.float32) / np.float32(255)
    return {"img": np.ascontiguousarray(planes) + np.float32(0.002)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[3][H][W]``."""
    _, height, width = img.shape
    red, green, blue = np.pad(img, ((0, 0), (3, 3), (3, 3)), mode="edge")
    gray = np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue
    by = _blur(gray, height)
    bx = _blur(by.T, width).T
    centre = gray[3:-3, 3:-3]
    return {"out": (np.float32(2) * centre - bx) / centre * img}


def _blur(image: np.ndarray, rows: int) -> np.ndarray:
    """Weighted sums over seven neighbouring rows; row 0 of the result is centred on row 3."""
    result = _weight(0) * image[3 : 3 + rows]
    for i in (1, 2, 3):
        result = result + _weight(i) * (image[3 - i : 3 - i + rows] + image[3 + i : 3 + i + rows])
    return result


def _weight(i: int) -> np.float32:
    return np.float32(math.exp(-i * i / (2 * SIGMA**2)) / (math.sqrt(2 * math.pi) * SIGMA))
