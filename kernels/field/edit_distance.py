"""Levenshtein's distance of two texts, the whole table. Class: dynamic programming."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"n": 3000, "m": 3500},
    "demo": {"n": 600, "m": 700},
    "test": {"n": 17, "m": 23},
    "tiny": {"n": 1, "m": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a`` i8 ``[n]`` and ``b`` i8 ``[m]``, texts of four letters."""
    return {
        name: rng.integers(65, 69, sizes[k], dtype=np.int8) for name, k in (("a", "n"), ("b", "m"))
    }


def reference(*, a: np.ndarray, b: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``d`` i32 ``[n + 1][m + 1]``, row by row: insertions are a running minimum."""
    steps = np.arange(len(b) + 1, dtype=np.int32)
    table = np.empty((len(a) + 1, len(b) + 1), np.int32)
    table[0] = steps
    for i, letter in enumerate(a, 1):
        row = table[i - 1] + np.int32(1)
        row[1:] = np.minimum(row[1:], table[i - 1, :-1] + (b != letter))
        table[i] = np.minimum.accumulate(row - steps) + steps
    return {"d": table}


def numba(
    numba: ModuleType, *, a: np.ndarray, b: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, on one thread."""

    @numba.njit()
    def run(a: np.ndarray, b: np.ndarray, d: np.ndarray) -> None:
        for i in range(len(a) + 1):
            d[i, 0] = i
        for j in range(len(b) + 1):
            d[0, j] = j
        for i in range(1, len(a) + 1):
            for j in range(1, len(b) + 1):
                cost = 0 if a[i - 1] == b[j - 1] else 1
                d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)

    d = np.empty((len(a) + 1, len(b) + 1), np.int32)

    def call() -> dict[str, np.ndarray]:
        run(a, b, d)
        return {"d": d}

    return call
