"""Box blur, 3 x 3, in two stages on 16-bit pixels: ``blur.c``'s reference and other forms."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"H": 1922, "W": 2562},
    "demo": {"H": 1082, "W": 1922},
    "test": {"H": 13, "W": 19},
    "tiny": {"H": 3, "W": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """A 12-bit image: ``img`` u16 ``[H][W]``."""
    return {"img": rng.integers(0, 4096, (sizes["H"], sizes["W"]), dtype=np.uint16)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` u16 ``[H - 2][W - 2]``: means over the windows of 3 x 3, rounded down per stage."""
    bx = (img[:, :-2] + img[:, 1:-1] + img[:, 2:]) // np.uint16(3)
    return {"out": (bx[:-2] + bx[1:-1] + bx[2:]) // np.uint16(3)}
