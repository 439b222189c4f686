"""Finite differences in the time domain: the reference of ``fdtd_2d.c``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

SIZES = {
    "bench": {"T": 150, "X": 1000, "Y": 1200},
    "demo": {"T": 10, "X": 500, "Y": 600},
    "test": {"T": 3, "X": 7, "Y": 9},
    "tiny": {"T": 1, "X": 1, "Y": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """The fields ``ex``, ``ey`` and ``hz`` f64 ``[X][Y]``, ``source`` f64 ``[T]``."""
    shape = sizes["X"], sizes["Y"]
    fields = {name: rng.random(shape) for name in ("ex", "ey", "hz")}
    return {**fields, "source": rng.random(sizes["T"])}


def reference(
    *, ex: np.ndarray, ey: np.ndarray, hz: np.ndarray, source: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """The fields after T steps."""
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for value in source:
        ey[0] = value
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        turned = ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1]
        hz[:-1, :-1] -= 0.7 * turned
    return {"ex": ex, "ey": ey, "hz": hz}
