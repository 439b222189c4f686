"""Histogram equalisation of an image of 8 bits. Class: gathers."""

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
    "test": {"H": 13, "W": 37},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u8 ``[H][W]``, with dark tones more often than bright ones."""
    tones = 255 * rng.random((sizes["H"], sizes["W"])) ** 3
    return {"img": tones.astype(np.uint8)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` u8 ``[H][W]``."""
    cumulated = np.cumsum(np.bincount(img.ravel(), minlength=256))
    return {"out": (cumulated * 255 // img.size).astype(np.uint8)[img]}


def histogram_equalization(img: po.u8["H", "W"], out: po.u8["H", "W"]) -> None:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    H, W = img.shape
    count = np.zeros(256, np.int64)
    for y in range(H):
        for x in range(W):
            count[img[y, x]] += 1
    for v in range(1, 256):
        count[v] += count[v - 1]
    table = np.empty(256, np.uint8)
    for v in range(256):
        table[v] = np.uint8(count[v] * 255 // (H * W))
    for y in range(H):
        for x in range(W):
            out[y, x] = table[img[y, x]]


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(histogram_equalization)


def numba(
    numba: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops; a histogram of each row's own, added up, so that rows are shared by threads."""

    @numba.njit(parallel=True)
    def run(img: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
        height, width = img.shape
        for y in numba.prange(height):
            rows[y, :] = 0
            for x in range(width):
                rows[y, img[y, x]] += 1
        count = np.cumsum(rows.sum(axis=0))
        table = np.empty(256, np.uint8)
        for v in range(256):
            table[v] = count[v] * 255 // (height * width)
        for y in numba.prange(height):
            for x in range(width):
                out[y, x] = table[img[y, x]]

    rows, out = np.empty((len(img), 256), np.int64), np.empty_like(img)

    def call() -> dict[str, np.ndarray]:
        run(img, rows, out)
        return {"out": out}

    return call
