"""Harris corner detection on a colour image: the reference of ``harris.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"H": 2560, "W": 1536},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 11, "W": 16},
    "tiny": {"H": 7, "W": 7},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[3][H][W]``, planes R, G, B in [0, 1)."""
    return {"img": rng.random((3, sizes["H"], sizes["W"]), dtype=np.float32)}


def to_picture(outputs: dict[str, np.ndarray], inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The image, dimmed, with a yellow square on every corner.

    Corners are the greatest response within 7 x 7 pixels, and above a hundredth of the greatest.
    """
    response = outputs["out"]
    height, width = response.shape
    wide = np.pad(response, 3, constant_values=-np.inf)
    around = [wide[y : y + height, x : x + width] for y in range(7) for x in range(7)]
    corners = (response == np.max(around, axis=0)) & (response > response.max() / 100)
    planes = inputs["img"][:, 3 : 3 + height, 3 : 3 + width]
    grey = planes.mean(axis=0) * 0.6
    picture = np.repeat(np.rint(grey.clip(0, 1) * 255).astype(np.uint8)[..., np.newaxis], 3, axis=2)
    for y, x in zip(*np.nonzero(corners), strict=True):
        picture[max(0, y - 1) : y + 2, max(0, x - 1) : x + 2] = (255, 220, 0)
    return picture


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H - 6][W - 6]``; its element (0, 0) belongs to pixel (3, 3)."""
    red, green, blue = img[:, 1:-1, 1:-1]
    gray = np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue
    along_y = _derivative(gray)
    along_x = _derivative(gray.T).T
    sum_xx, sum_yy, sum_xy = map(_sum3x3, (along_x * along_x, along_y * along_y, along_x * along_y))
    trace = sum_xx + sum_yy
    return {"out": sum_xx * sum_yy - sum_xy * sum_xy - np.float32(0.04) * trace * trace}


def _derivative(image: np.ndarray) -> np.ndarray:
    """Differences along rows' axis, weighted 1 2 1 over 12 across it; one less on each side."""
    difference = image[2:] - image[:-2]
    outer, centre = np.float32(1 / 12), np.float32(2 / 12)
    return outer * (difference[:, :-2] + difference[:, 2:]) + centre * difference[:, 1:-1]


def _sum3x3(image: np.ndarray) -> np.ndarray:
    rows = image[:-2] + image[1:-1] + image[2:]
    return rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
