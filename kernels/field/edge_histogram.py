"""Sobel's edges above a threshold, and the histogram of their directions. Class: larger code."""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "bench": {"H": 1536, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 9, "W": 23},
    "tiny": {"H": 3, "W": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``img`` u8 ``[H][W]``, ``threshold`` i32."""
    img = rng.integers(0, 256, (sizes["H"], sizes["W"]), dtype=np.uint8)
    return {"img": img, "threshold": np.int32(300)}


def reference(*, img: np.ndarray, threshold: np.int32, **_sizes: int) -> dict[str, np.ndarray]:
    """``edges`` u8 ``[H][W]``, 0 or 255; ``histogram`` i32 ``[8]``, edges by octant.

    The octant has a bit for the sign of each derivative and one for which of them is greater.
    """
    wide = img.astype(np.int32)
    rows = wide[:-2] + 2 * wide[1:-1] + wide[2:]
    columns = wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]
    gx, gy = rows[:, 2:] - rows[:, :-2], columns[2:] - columns[:-2]
    strong = np.abs(gx) + np.abs(gy) > threshold
    octant = 4 * (gx < 0) + 2 * (gy < 0) + (np.abs(gy) > np.abs(gx))
    edges = np.zeros(img.shape, np.uint8)
    edges[1:-1, 1:-1][strong] = 255
    return {
        "edges": edges,
        "histogram": np.bincount(octant[strong], minlength=8).astype(np.int32),
    }


def edge_histogram(
    img: po.u8["H", "W"], threshold: po.i32, edges: po.u8["H", "W"], histogram: po.i32["8"]
) -> None:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    H, W = img.shape
    src = np.empty((H, W), np.int32)
    octant = np.empty((H, W), np.uint8)
    for y in range(H):
        for x in range(W):
            src[y, x] = img[y, x]
            edges[y, x] = 0
            octant[y, x] = 8
    for y in range(1, H - 1):
        for x in range(1, W - 1):
            gx = src[y - 1, x + 1] + 2 * src[y, x + 1] + src[y + 1, x + 1]
            gx -= src[y - 1, x - 1] + 2 * src[y, x - 1] + src[y + 1, x - 1]
            gy = src[y + 1, x - 1] + 2 * src[y + 1, x] + src[y + 1, x + 1]
            gy -= src[y - 1, x - 1] + 2 * src[y - 1, x] + src[y - 1, x + 1]
            if abs(gx) + abs(gy) > threshold:
                edges[y, x] = 255
                bits = 4 if gx < 0 else 0
                bits += 2 if gy < 0 else 0
                bits += 1 if abs(gy) > abs(gx) else 0
                octant[y, x] = np.uint8(bits)
    for k in range(8):
        histogram[k] = 0
    for y in range(H):
        for x in range(W):
            if octant[y, x] < 8:
                histogram[min(octant[y, x], 7)] += 1


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(edge_histogram)
