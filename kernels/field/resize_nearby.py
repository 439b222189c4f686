"""An image of floats resized to any other size, bilinear, in one loop nest. Class: gathers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1080, "W": 1920, "h": 1440, "w": 2560},
    "demo": {"H": 1080, "W": 1920, "h": 720, "w": 1280},
    "test": {"H": 8, "W": 16, "h": 11, "w": 23},
    "tiny": {"H": 1, "W": 1, "h": 1, "w": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W]``."""
    return {"img": rng.random((sizes["H"], sizes["W"]), dtype=np.float32)}


def reference(*, img: np.ndarray, h: int, w: int, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[h][w]``: centres of pixels lie on centres, the border repeats."""
    rows, fy = _places(h, img.shape[0])
    columns, fx = _places(w, img.shape[1])
    near = [img[r][:, columns[0]] + fx * (img[r][:, columns[1]] - img[r][:, columns[0]])
            for r in rows]  # fmt: skip
    return {"out": near[0] + fy[:, None] * (near[1] - near[0])}


def _places(count: int, size: int) -> tuple[list[np.ndarray], np.ndarray]:
    """The two neighbours of each new pixel, and how far it is from the first one."""
    half = np.float32(0.5)
    at = (np.arange(count, dtype=np.float32) + half) * np.float32(size) / np.float32(count) - half
    first = np.floor(at)
    index = first.astype(int)
    return [np.clip(index + k, 0, size - 1) for k in (0, 1)], at - first


def opencv(
    cv2: ModuleType, *, img: np.ndarray, h: int, w: int, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``resize``."""
    return lambda: {"out": cv2.resize(img, (w, h), interpolation=cv2.INTER_LINEAR)}
