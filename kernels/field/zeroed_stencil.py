"""A Laplacian into an array of zeros, of which the border stays. Class: time loops."""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "bench": {"H": 1500, "W": 2000},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 9, "W": 17},
    "tiny": {"H": 2, "W": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W]``."""
    return {"img": rng.random((sizes["H"], sizes["W"]), dtype=np.float32)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W]``: squares of the Laplacian."""
    out = np.zeros_like(img)
    around = img[:-2, 1:-1] + img[2:, 1:-1] + img[1:-1, :-2] + img[1:-1, 2:]
    out[1:-1, 1:-1] = (around - np.float32(4) * img[1:-1, 1:-1]) ** 2
    return {"out": out}


def zeroed_stencil(img: po.f32["H", "W"]) -> np.ndarray:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    H, W = img.shape
    laplacian = np.zeros((H, W), np.float32)
    for y in range(1, H - 1):
        for x in range(1, W - 1):
            around = img[y - 1, x] + img[y + 1, x] + img[y, x - 1] + img[y, x + 1]
            laplacian[y, x] = around - 4 * img[y, x]
    out = np.zeros((H, W), np.float32)
    for y in range(H):
        for x in range(W):
            out[y, x] = laplacian[y, x] * laplacian[y, x]
    return out


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(zeroed_stencil)
