"""The triad of STREAM, a = b + q c, in double precision. Class: single loops."""

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
    "test": {"n": 1001},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``q`` f64, ``b`` and ``c`` f64 ``[n]``."""
    b, c = rng.random((2, sizes["n"]))
    return {"q": np.float64(3), "b": b, "c": c}


def reference(
    *, q: np.float64, b: np.ndarray, c: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``a`` f64 ``[n]``."""
    return {"a": b + q * c}


def stream_triad(q: po.f64, b: po.f64["n"], c: po.f64["n"], a: po.f64["n"]) -> None:
    """The loop: runs as it is, and ``pipeline`` reads it."""
    for i in range(b.shape[0]):
        a[i] = b[i] + q * c[i]


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(stream_triad)


def numba(
    numba: ModuleType, *, q: np.float64, b: np.ndarray, c: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loop, shared by threads."""

    @numba.njit(parallel=True)
    def run(q: np.float64, b: np.ndarray, c: np.ndarray, a: np.ndarray) -> None:
        for i in numba.prange(len(b)):
            a[i] = b[i] + q * c[i]

    a = np.empty_like(b)

    def call() -> dict[str, np.ndarray]:
        run(q, b, c, a)
        return {"a": a}

    return call
