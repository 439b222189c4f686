"""A tone curve per channel, looked up in tables of 256 bytes. Class: gathers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1440, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 7, "W": 25},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u8 ``[H][W][3]``; ``table`` u8 ``[3][256]``: powers of 2.2, 2 and 1.8."""
    tones = np.arange(256) / 255
    return {
        "img": rng.integers(0, 256, (sizes["H"], sizes["W"], 3), dtype=np.uint8),
        "table": np.rint([255 * tones ** (1 / g) for g in (2.2, 2, 1.8)]).astype(np.uint8),
    }


def reference(*, img: np.ndarray, table: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` u8 ``[H][W][3]``."""
    return {"out": table[np.arange(3), img]}


def opencv(
    cv2: ModuleType, *, img: np.ndarray, table: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``LUT`` with a table of three channels."""
    tones = np.ascontiguousarray(table.T[None])
    return lambda: {"out": cv2.LUT(img, tones)}


def numba(
    numba: ModuleType, *, img: np.ndarray, table: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads."""

    @numba.njit(parallel=True)
    def run(img: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
        for y in numba.prange(img.shape[0]):
            for x in range(img.shape[1]):
                for c in range(3):
                    out[y, x, c] = table[c, img[y, x, c]]

    out = np.empty_like(img)

    def call() -> dict[str, np.ndarray]:
        run(img, table, out)
        return {"out": out}

    return call
