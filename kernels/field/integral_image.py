"""Integral image of 8 bits in sums of 32 bits. Class: windows of reductions.

Behind others: both sums are in one sweep with vectors there (a scan in registers).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1536, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 9, "W": 35},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u8 ``[H][W]``."""
    return {"img": rng.integers(0, 256, (sizes["H"], sizes["W"]), dtype=np.uint8)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``sum`` i32 ``[H + 1][W + 1]``."""
    total = img.astype(np.int32).cumsum(axis=0, dtype=np.int32).cumsum(axis=1, dtype=np.int32)
    return {"sum": np.pad(total, ((1, 0), (1, 0)))}


def opencv(
    cv2: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``integral``."""
    return lambda: {"sum": cv2.integral(img)}
