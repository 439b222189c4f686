"""Batch normalisation, ReLU and max pooling: the reference of ``bn_relu_maxpool.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 2, "C": 64, "H": 112, "W": 112},
    "demo": {"N": 2, "C": 64, "H": 112, "W": 112},
    "test": {"N": 2, "C": 3, "H": 7, "W": 10},
    "tiny": {"N": 1, "C": 1, "H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[N][C][H][W]``, ``scale`` and ``shift`` f32 ``[C]``."""
    n, c, h, w = (sizes[name] for name in ("N", "C", "H", "W"))
    return {
        "img": rng.standard_normal((n, c, h, w), dtype=np.float32),
        "scale": rng.random(c, dtype=np.float32) + np.float32(0.5),
        "shift": rng.standard_normal(c, dtype=np.float32),
    }


def reference(
    *, img: np.ndarray, scale: np.ndarray, shift: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[N][C][(H - 1) / 2 + 1][(W - 1) / 2 + 1]``."""
    act = np.maximum(img * scale[:, None, None] + shift[:, None, None], np.float32(0))
    return {"out": _max_pool(act)}


def _max_pool(act: np.ndarray) -> np.ndarray:
    """Maxima over windows of 3 x 3, stride 2, padding 1; the padding takes no part."""
    rows, columns = ((n - 1) // 2 * 2 + 1 for n in act.shape[2:])
    padded = np.pad(act, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    windows = (
        padded[:, :, ky : ky + rows : 2, kx : kx + columns : 2]
        for ky in range(3)
        for kx in range(3)
    )
    result = next(windows).copy()
    for window in windows:
        np.maximum(result, window, out=result)
    return result
