"""Nodes of a staggered grid accelerated by gradients of pressure. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"nx": 1100, "ny": 900},
    "demo": {"nx": 300, "ny": 400},
    "test": {"nx": 13, "ny": 7},
    "tiny": {"nx": 1, "ny": 1},
}
NAMES = ("xarea", "yarea", "volume", "density", "pressure", "viscosity", "xvel", "yvel")


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``dt`` f64, and eight fields f64 ``[ny + 1][nx + 1]``."""
    fields = rng.uniform(0.5, 3, (len(NAMES), sizes["ny"] + 1, sizes["nx"] + 1))
    return {"dt": np.float64(0.04), **dict(zip(NAMES, fields, strict=True))}


def reference(*, dt: np.float64, **given: np.ndarray) -> dict[str, np.ndarray]:
    """``xvel`` and ``yvel``; their first row and column stay."""
    mass = given["density"] * given["volume"]
    rate = 2 * dt / (mass[:-1, :-1] + mass[:-1, 1:] + mass[1:, 1:] + mass[1:, :-1])
    force = given["pressure"] + given["viscosity"]
    across = given["xarea"][:, 1:] * np.diff(force, axis=1)
    along = given["yarea"][1:] * np.diff(force, axis=0)
    x, y = given["xvel"].copy(), given["yvel"].copy()
    x[1:, 1:] -= rate * (across[1:] + across[:-1])
    y[1:, 1:] -= rate * (along[:, 1:] + along[:, :-1])
    return {"xvel": x, "yvel": y}
