"""Colours looked up in a table of three dimensions, trilinear. Class: gathers."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

#: points of the table along each side
POINTS = 17

SIZES = {
    "bench": {"H": 1080, "W": 1920},
    "demo": {"H": 720, "W": 1280},
    "test": {"H": 7, "W": 19},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W][3]`` in [0, 1); ``table`` f32 ``[17][17][17][3]`` by R, G, B."""
    return {
        "img": rng.random((sizes["H"], sizes["W"], 3), dtype=np.float32),
        "table": rng.random((POINTS, POINTS, POINTS, 3), dtype=np.float32),
    }


def reference(*, img: np.ndarray, table: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W][3]``."""
    at = img * np.float32(POINTS - 1)
    low = np.minimum(at.astype(int), POINTS - 2)
    part = at - low.astype(np.float32)
    out = np.zeros_like(img)
    for corner in product((0, 1), repeat=3):
        weight = np.where(corner, part, 1 - part).prod(axis=-1, keepdims=True)
        r, g, b = np.moveaxis(low + corner, -1, 0)
        out += weight * table[r, g, b]
    return {"out": out}


def pipeline() -> po.Scop:
    """The program: the place of each colour, and a stage that reads the eight points around."""
    size = [po.size("H"), po.size("W")]
    img = po.input("img", po.f32, [*size, 3])
    table = po.input("table", po.f32, [POINTS, POINTS, POINTS, 3])
    at = po.stage("at", [*size, 3], lambda y, x, c: img[y, x, c] * (POINTS - 1))

    def looked_up(y: po.Term, x: po.Term, c: po.Term) -> po.Term:
        low = [po.clamp(po.cast(po.i32, at[y, x, k]), 0, POINTS - 2) for k in range(3)]
        part = [at[y, x, k] - po.cast(po.f32, low[k]) for k in range(3)]

        def between(known: list[po.Term]) -> po.Term:
            if len(known) == 3:
                return table[(*known, c)]
            k = len(known)
            one, other = (between([*known, low[k] + step]) for step in (0, 1))
            return one + part[k] * (other - one)

        return between([])

    return po.pipeline(po.stage("out", [*size, 3], looked_up), name="color_lut_3d")


def numba(
    numba: ModuleType, *, img: np.ndarray, table: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads."""
    points = POINTS

    @numba.njit(parallel=True)
    def run(img: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
        for y in numba.prange(img.shape[0]):
            low = np.empty(3, np.int64)
            part = np.empty(3, np.float32)
            for x in range(img.shape[1]):
                for k in range(3):
                    at = img[y, x, k] * np.float32(points - 1)
                    low[k] = min(int(at), points - 2)
                    part[k] = at - low[k]
                for c in range(3):
                    total = np.float32(0)
                    for dr in range(2):
                        for dg in range(2):
                            for db in range(2):
                                weight = part[0] if dr else 1 - part[0]
                                weight *= part[1] if dg else 1 - part[1]
                                weight *= part[2] if db else 1 - part[2]
                                total += weight * table[low[0] + dr, low[1] + dg, low[2] + db, c]
                    out[y, x, c] = total

    out = np.empty_like(img)

    def call() -> dict[str, np.ndarray]:
        run(img, table, out)
        return {"out": out}

    return call
