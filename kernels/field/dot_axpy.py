"""A vector made orthogonal to another one: dot products and axpy. Class: fused reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``x`` and ``y`` f64 ``[n]``."""
    x, y = rng.standard_normal((2, sizes["n"]))
    return {"x": x, "y": y}


def reference(*, x: np.ndarray, y: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``y`` f64 ``[n]``, and ``norm`` f64 ``[1]``."""
    y = y - x * (np.dot(x, y) / np.dot(x, x))
    return {"y": y, "norm": np.array([np.linalg.norm(y)])}


def torch(
    torch: ModuleType, *, x: np.ndarray, y: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``dot``, ``add`` and ``linalg.norm``."""
    one, other = torch.from_numpy(x), torch.from_numpy(y)

    def call() -> dict[str, np.ndarray]:
        factor = torch.dot(one, other) / torch.dot(one, one)
        left = other - factor * one
        return {"y": left.numpy(), "norm": torch.linalg.norm(left)[None].numpy()}

    return call
