"""The stem of ResNet: the reference of ``conv_bn_relu_maxpool.c``."""

from __future__ import annotations

import numpy as np

K, STRIDE, PAD = 7, 2, 3

SIZES = {
    "bench": {"N": 1, "CO": 64, "CI": 3, "H": 224, "W": 224},
    "demo": {"N": 1, "CO": 16, "CI": 3, "H": 112, "W": 112},
    "test": {"N": 1, "CO": 3, "CI": 2, "H": 9, "W": 12},
    "tiny": {"N": 1, "CO": 1, "CI": 1, "H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` ``[N][CI][H][W]``, ``weight`` ``[CO][CI][7][7]``, ``scale``, ``shift`` ``[CO]``."""
    n, co, ci, h, w = (sizes[name] for name in ("N", "CO", "CI", "H", "W"))
    return {
        "img": rng.standard_normal((n, ci, h, w), dtype=np.float32),
        "weight": rng.standard_normal((co, ci, K, K), dtype=np.float32) / np.float32(K * ci**0.5),
        "scale": rng.random(co, dtype=np.float32) + np.float32(0.5),
        "shift": rng.standard_normal(co, dtype=np.float32),
    }


def reference(
    *, img: np.ndarray, weight: np.ndarray, scale: np.ndarray, shift: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[N][CO][OH][OW]``, about a quarter of H and W."""
    sums = _convolve(img, weight)
    act = np.maximum(sums * scale[:, None, None] + shift[:, None, None], np.float32(0))
    return {"out": _max_pool(act)}


def _convolve(img: np.ndarray, weight: np.ndarray) -> np.ndarray:
    height, width = ((n + 2 * PAD - K) // STRIDE + 1 for n in img.shape[2:])
    padded = np.pad(img, ((0, 0), (0, 0), (PAD, PAD), (PAD, PAD)))
    result = np.zeros((img.shape[0], weight.shape[0], height, width), np.float32)
    for ky in range(K):
        for kx in range(K):
            rows = slice(ky, ky + STRIDE * (height - 1) + 1, STRIDE)
            columns = slice(kx, kx + STRIDE * (width - 1) + 1, STRIDE)
            product = np.tensordot(padded[:, :, rows, columns], weight[:, :, ky, kx], (1, 1))
            result += np.moveaxis(product, 3, 1)
    return result


def _max_pool(act: np.ndarray) -> np.ndarray:
    rows, columns = ((n - 1) // 2 * 2 + 1 for n in act.shape[2:])
    padded = np.pad(act, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
    result = np.zeros_like(padded[:, :, 0:rows:2, 0:columns:2])
    for ky in range(3):
        for kx in range(3):
            window = padded[:, :, ky : ky + rows : 2, kx : kx + columns : 2]
            np.maximum(result, window, out=result)
    return result
