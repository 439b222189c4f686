"""A scaled vector added to another one, y = a x + y. Class: single loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 1003},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``a`` f32, ``x`` and ``y`` f32 ``[n]``."""
    x, y = rng.standard_normal((2, sizes["n"]), dtype=np.float32)
    return {"a": np.float32(1.7), "x": x, "y": y}


def reference(
    *, a: np.float32, x: np.ndarray, y: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``y`` f32 ``[n]``."""
    return {"y": a * x + y}


def numba(
    numba: ModuleType, *, a: np.float32, x: np.ndarray, y: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loop, shared by threads; each call starts from the ``y`` that was given."""

    @numba.njit(parallel=True)
    def run(a: np.float32, x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
        for i in numba.prange(len(x)):
            out[i] = a * x[i] + y[i]

    out = np.empty_like(y)

    def call() -> dict[str, np.ndarray]:
        run(a, x, y, out)
        return {"y": out}

    return call


def torch(
    torch: ModuleType, *, a: np.float32, x: np.ndarray, y: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``torch.add`` with a factor."""
    one, other = torch.from_numpy(y), torch.from_numpy(x)
    return lambda: {"y": torch.add(one, other, alpha=float(a)).numpy()}
