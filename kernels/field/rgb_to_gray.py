"""Luma of an interleaved image of 8 bits, in integers. Class: interleaved channels."""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

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
    "test": {"H": 5, "W": 37},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u8 ``[H][W][3]``."""
    return {"img": rng.integers(0, 256, (sizes["H"], sizes["W"], 3), dtype=np.uint8)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``gray`` u8 ``[H][W]``."""
    total = img.astype(np.int64) @ np.array([4899, 9617, 1868])
    return {"gray": ((total + 8192) >> 14).astype(np.uint8)}


def rgb_to_gray(img: po.u8["H", "W", "3"], gray: po.u8["H", "W"]) -> None:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    H, W, _ = img.shape
    for y in range(H):
        for x in range(W):
            r = np.int32(img[y, x, 0])
            g = np.int32(img[y, x, 1])
            b = np.int32(img[y, x, 2])
            gray[y, x] = np.uint8((4899 * r + 9617 * g + 1868 * b + 8192) >> 14)


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(rgb_to_gray)


def numba(
    numba: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads."""

    @numba.njit(parallel=True)
    def run(img: np.ndarray, gray: np.ndarray) -> None:
        for y in numba.prange(img.shape[0]):
            for x in range(img.shape[1]):
                r, g, b = np.int32(img[y, x, 0]), np.int32(img[y, x, 1]), np.int32(img[y, x, 2])
                gray[y, x] = (4899 * r + 9617 * g + 1868 * b + 8192) >> 14

    gray = np.empty(img.shape[:2], np.uint8)

    def call() -> dict[str, np.ndarray]:
        run(img, gray)
        return {"gray": gray}

    return call
