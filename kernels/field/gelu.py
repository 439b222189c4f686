"""The Gaussian error linear unit of a matrix with a bias. Class: math functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 1024, "C": 3072},
    "demo": {"N": 128, "C": 768},
    "test": {"N": 5, "C": 37},
    "tiny": {"N": 1, "C": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``x`` f32 ``[N][C]``, ``bias`` f32 ``[C]``."""
    return {
        "x": rng.standard_normal((sizes["N"], sizes["C"]), dtype=np.float32),
        "bias": rng.standard_normal(sizes["C"], dtype=np.float32),
    }


def reference(*, x: np.ndarray, bias: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[N][C]``."""
    v = x + bias
    error = np.vectorize(math.erf, otypes=[np.float32])(v * np.float32(math.sqrt(0.5)))
    return {"out": np.float32(0.5) * v * (np.float32(1) + error)}


def pipeline() -> po.Scop:
    """The program: the sum, and the function of it."""
    size = [po.size("N"), po.size("C")]
    x, bias = po.input("x", po.f32, size), po.input("bias", po.f32, size[1:])
    v = po.stage("v", size, lambda i, c: x[i, c] + bias[c])
    out = po.stage("out", size, lambda i, c: 0.5 * v[i, c] * (1 + po.erf(v[i, c] * math.sqrt(0.5))))
    return po.pipeline(out, name="gelu")


def scipy(
    scipy: ModuleType, *, x: np.ndarray, bias: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``special.erf`` and NumPy."""
    erf = scipy.special.erf

    def call() -> dict[str, np.ndarray]:
        v = x + bias
        return {"out": np.float32(0.5) * v * (np.float32(1) + erf(v * np.float32(math.sqrt(0.5))))}

    return call


def torch(
    torch: ModuleType, *, x: np.ndarray, bias: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``gelu`` of the sum."""
    rows, shift = torch.from_numpy(x), torch.from_numpy(bias)
    return lambda: {"out": torch.nn.functional.gelu(rows + shift).numpy()}
