"""Brightness and chroma of pixels that are structures. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"H": 1536, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 7, "W": 19},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Members ``img_r``, ``img_g``, ``img_b`` u8 ``[H][W]``."""
    planes = rng.integers(0, 256, (3, sizes["H"], sizes["W"]), dtype=np.uint8)
    return dict(zip(("img_r", "img_g", "img_b"), planes, strict=True))


def reference(
    *, img_r: np.ndarray, img_g: np.ndarray, img_b: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``luma`` and ``chroma`` u8 ``[H][W]``."""
    planes = np.stack([img_r, img_g, img_b])
    luma = np.tensordot(np.array([77, 150, 29]), planes.astype(int), 1) >> 8
    return {"luma": luma.astype(np.uint8), "chroma": np.ptp(planes, axis=0)}
