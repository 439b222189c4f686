"""Prefix sums of 32 bits in 64 bits. Class: recurrences.

Behind others: clang makes faster code of these loops than gcc, which compiles ours.
"""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``x`` i32 ``[n]``."""
    return {"x": rng.integers(-(1 << 31), 1 << 31, sizes["n"], dtype=np.int32)}


def reference(*, x: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``total`` i64 ``[n]``."""
    return {"total": np.cumsum(x, dtype=np.int64)}


def prefix_sum(x: po.i32["n"], total: po.i64["n"]) -> None:
    """The loop: it runs as it is, and ``pipeline`` reads it."""
    total[0] = x[0]
    for i in range(1, x.shape[0]):
        total[i] = total[i - 1] + x[i]


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(prefix_sum)


def torch(
    torch: ModuleType, *, x: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``cumsum``."""
    given = torch.from_numpy(x)
    return lambda: {"total": torch.cumsum(given, 0).numpy()}


def numba(
    numba: ModuleType, *, x: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loop, on one thread."""

    @numba.njit()
    def run(x: np.ndarray, total: np.ndarray) -> None:
        value = np.int64(0)
        for i in range(len(x)):
            value += x[i]
            total[i] = value

    total = np.empty(len(x), np.int64)

    def call() -> dict[str, np.ndarray]:
        run(x, total)
        return {"total": total}

    return call
