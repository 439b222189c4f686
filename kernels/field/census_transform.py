"""Census transform of 5 x 5, a bit for each neighbour. Class: larger code."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"H": 1080, "W": 1920},
    "demo": {"H": 720, "W": 1280},
    "test": {"H": 7, "W": 19},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u8 ``[H + 4][W + 4]``."""
    return {"img": rng.integers(0, 256, (sizes["H"] + 4, sizes["W"] + 4), dtype=np.uint8)}


def reference(*, img: np.ndarray, H: int, W: int) -> dict[str, np.ndarray]:
    """``code`` u32 ``[H][W]``, the first neighbour in the highest bit."""
    code, centre = np.zeros((H, W), np.uint32), img[2:-2, 2:-2]
    around = [k for k in range(25) if k != 12]
    for bit, k in enumerate(reversed(around)):
        y, x = divmod(k, 5)
        code += (img[y : y + H, x : x + W] < centre).astype(np.uint32) << np.uint32(bit)
    return {"code": code}
