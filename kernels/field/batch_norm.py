"""Batch normalisation with the statistics of the batch. Class: fused reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 8, "C": 64, "H": 56, "W": 56},
    "demo": {"N": 4, "C": 32, "H": 28, "W": 28},
    "test": {"N": 3, "C": 5, "H": 4, "W": 7},
    "tiny": {"N": 1, "C": 1, "H": 1, "W": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``x`` f32 ``[N][C][H][W]``; ``gamma`` and ``beta`` f32 ``[C]``."""
    gamma, beta = rng.standard_normal((2, sizes["C"]), dtype=np.float32)
    x = rng.standard_normal([sizes[name] for name in "NCHW"], dtype=np.float32)
    return {"x": x + np.float32(0.25), "gamma": gamma, "beta": beta}


def reference(
    *, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``mean`` and ``var`` f32 ``[C]``, ``y`` f32 ``[N][C][H][W]``."""
    wide, over = x.astype(np.float64), (0, 2, 3)
    mean, var = wide.mean(axis=over), wide.var(axis=over)
    factor, shift = gamma / np.sqrt(var + 1e-5), beta
    y = (wide - mean[:, None, None]) * factor[:, None, None] + shift[:, None, None]
    return {name: a.astype(np.float32) for name, a in (("mean", mean), ("var", var), ("y", y))}


def torch(
    torch: ModuleType, *, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``var_mean`` and ``batch_norm``."""
    images, weight, bias = (torch.from_numpy(a) for a in (x, gamma, beta))

    def call() -> dict[str, np.ndarray]:
        var, mean = torch.var_mean(images, (0, 2, 3), correction=0)
        y = torch.nn.functional.batch_norm(images, mean, var, weight, bias, eps=1e-5)
        return {"mean": mean.numpy(), "var": var.numpy(), "y": y.numpy()}

    return call
