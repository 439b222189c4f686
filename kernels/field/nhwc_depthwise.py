"""Depthwise convolution, 3 x 3, with ReLU6 in layout NHWC. Class: interleaved channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 1, "H": 224, "W": 224, "C": 48},
    "demo": {"N": 1, "H": 112, "W": 112, "C": 32},
    "test": {"N": 2, "H": 5, "W": 7, "C": 11},
    "tiny": {"N": 1, "H": 1, "W": 1, "C": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``x`` f32 ``[N][H][W][C]``, ``w`` f32 ``[3][3][C]``, ``bias`` f32 ``[C]``."""
    n, height, width, channels = (sizes[name] for name in "NHWC")
    return {
        "x": rng.standard_normal((n, height, width, channels), dtype=np.float32),
        "w": rng.standard_normal((3, 3, channels), dtype=np.float32),
        "bias": rng.standard_normal(channels, dtype=np.float32),
    }


def reference(
    *, x: np.ndarray, w: np.ndarray, bias: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[N][H][W][C]``."""
    _, height, width, _ = x.shape
    wide = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    total = np.broadcast_to(bias, x.shape).copy()
    for i in range(3):
        for j in range(3):
            total += wide[:, i : i + height, j : j + width] * w[i, j]
    return {"out": np.clip(total, 0, 6)}


def torch(
    torch: ModuleType, *, x: np.ndarray, w: np.ndarray, bias: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``conv2d`` with a group per channel, in torch's channels-last format."""
    image = torch.from_numpy(x).permute(0, 3, 1, 2)
    weights = torch.from_numpy(w).permute(2, 0, 1)[:, None].contiguous()
    shift, count = torch.from_numpy(bias), len(bias)

    def call() -> dict[str, np.ndarray]:
        out = torch.nn.functional.conv2d(image, weights, shift, padding=1, groups=count)
        return {"out": out.clamp_(0, 6).permute(0, 2, 3, 1).numpy()}

    return call
