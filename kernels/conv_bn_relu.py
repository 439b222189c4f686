"""Convolution, batch normalisation and ReLU: the reference of ``conv_bn_relu.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"N": 1, "CO": 64, "CI": 64, "H": 56, "W": 56},
    "demo": {"N": 1, "CO": 32, "CI": 16, "H": 56, "W": 56},
    "test": {"N": 2, "CO": 3, "CI": 2, "H": 5, "W": 7},
    "tiny": {"N": 1, "CO": 1, "CI": 1, "H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` ``[N][CI][H][W]``, ``weight`` ``[CO][CI][3][3]``, ``scale``, ``shift`` ``[CO]``."""
    n, co, ci, h, w = (sizes[name] for name in ("N", "CO", "CI", "H", "W"))
    return {
        "img": rng.standard_normal((n, ci, h, w), dtype=np.float32),
        "weight": rng.standard_normal((co, ci, 3, 3), dtype=np.float32) / np.float32(3 * ci**0.5),
        "scale": rng.random(co, dtype=np.float32) + np.float32(0.5),
        "shift": rng.standard_normal(co, dtype=np.float32),
    }


def reference(
    *,
    img: np.ndarray,
    weight: np.ndarray,
    scale: np.ndarray,
    shift: np.ndarray,
    stride: int = 1,
    pad: int = 1,
    **_sizes: int,
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[N][CO][(H + 2 pad - K) / stride + 1][(W + 2 pad - K) / stride + 1]``."""
    sums = _convolve(img, weight, stride, pad)
    return {"out": np.maximum(sums * scale[:, None, None] + shift[:, None, None], np.float32(0))}


def _convolve(img: np.ndarray, weight: np.ndarray, stride: int, pad: int) -> np.ndarray:
    """A convolution in layout NCHW with zero padding: one matrix product per kernel element."""
    size = weight.shape[2]
    height, width = ((n + 2 * pad - size) // stride + 1 for n in img.shape[2:])
    padded = np.pad(img, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    result = np.zeros((img.shape[0], weight.shape[0], height, width), np.float32)
    for ky in range(size):
        for kx in range(size):
            rows = slice(ky, ky + stride * (height - 1) + 1, stride)
            columns = slice(kx, kx + stride * (width - 1) + 1, stride)
            product = np.tensordot(padded[:, :, rows, columns], weight[:, :, ky, kx], (1, 1))
            result += np.moveaxis(product, 3, 1)
    return result
