"""A depthwise-separable layer, channels last: the reference of ``depthwise_separable.c``."""

from __future__ import annotations

import numpy as np

K, PAD = 3, 1

SIZES = {
    "bench": {"N": 4, "H": 112, "W": 112, "CI": 32, "CO": 16},
    "demo": {"N": 1, "H": 112, "W": 112, "CI": 32, "CO": 16},
    "test": {"N": 2, "H": 5, "W": 7, "CI": 3, "CO": 5},
    "tiny": {"N": 1, "H": 1, "W": 1, "CI": 1, "CO": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` ``[N][H][W][CI]``, ``dw`` ``[3][3][CI]``, ``pw`` ``[CI][CO]``, ``bias`` ``[CO]``."""
    n, h, w, ci, co = (sizes[name] for name in ("N", "H", "W", "CI", "CO"))
    return {
        "img": rng.standard_normal((n, h, w, ci), dtype=np.float32),
        "dw": rng.standard_normal((K, K, ci), dtype=np.float32) / np.float32(K),
        "pw": rng.standard_normal((ci, co), dtype=np.float32) / np.float32(ci**0.5),
        "bias": rng.standard_normal(co, dtype=np.float32),
    }


def reference(
    *, img: np.ndarray, dw: np.ndarray, pw: np.ndarray, bias: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[N][H][W][CO]``."""
    _, height, width, _ = img.shape
    padded = np.pad(img, ((0, 0), (PAD, PAD), (PAD, PAD), (0, 0)))
    depth = np.zeros_like(img)
    for ky in range(K):
        for kx in range(K):
            depth += dw[ky, kx] * padded[:, ky : ky + height, kx : kx + width]
    return {"out": np.maximum(depth @ pw + bias, np.float32(0))}
