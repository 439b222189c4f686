"""A picture turned by half a turn, unsigned indices. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"height": 2000, "width": 2000},
    "demo": {"height": 1080, "width": 1920},
    "test": {"height": 7, "width": 13},
    "tiny": {"height": 1, "width": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``src`` u8 ``[height][width]``."""
    shape = sizes["height"], sizes["width"]
    return {"src": rng.integers(0, 256, shape, dtype=np.uint8)}


def reference(*, src: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``dst`` u8 ``[height][width]``."""
    return {"dst": np.rot90(src, 2).copy()}
