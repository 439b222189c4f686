"""The discrete cosine transform of 8 x 8 blocks. Class: math functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 4000},
    "demo": {"N": 500},
    "test": {"N": 5},
    "tiny": {"N": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``blocks`` f32 ``[N][8][8]``, less than 1."""
    return {"blocks": rng.uniform(-1, 1, (sizes["N"], 8, 8)).astype(np.float32)}


def reference(*, blocks: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[N][8][8]``, orthonormal."""
    u, x = np.arange(8)[:, None], np.arange(8)
    basis = np.cos((2 * x + 1) * u * np.pi / 16) * np.where(u == 0, np.sqrt(0.125), 0.5)
    return {"out": (basis @ blocks.astype(np.float64) @ basis.T).astype(np.float32)}


def scipy(
    scipy: ModuleType, *, blocks: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``fft.dctn`` of all blocks."""
    transform = scipy.fft.dctn
    return lambda: {"out": transform(blocks, axes=(1, 2), norm="ortho")}
