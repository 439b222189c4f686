"""Optical flow of Lucas and Kanade between two images, u and v. Class: several results."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "bench": {"H": 720, "W": 1280},
    "demo": {"H": 720, "W": 1280},
    "test": {"H": 7, "W": 19},
    "tiny": {"H": 3, "W": 3},
}
RADIUS, RIDGE = 2, 0.05


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``one`` and ``two`` f32 ``[H][W]``."""
    one, two = rng.random((2, sizes["H"], sizes["W"]), dtype=np.float32)
    return {"one": one, "two": two}


def reference(*, one: np.ndarray, two: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``u`` and ``v`` f32 ``[H][W]``, in double precision; the border repeats."""
    wide = np.pad(one.astype(np.float64), 1, mode="edge")
    ix, iy = (wide[1:-1, 2:] - wide[1:-1, :-2]) / 2, (wide[2:, 1:-1] - wide[:-2, 1:-1]) / 2
    it = two.astype(np.float64) - one
    pairs = ((ix, ix), (iy, iy), (ix, iy), (ix, it), (iy, it))
    xx, yy, xy, xt, yt = (_sum(a * b) for a, b in pairs)
    determinant = (xx + RIDGE) * (yy + RIDGE) - xy * xy
    u = (xy * yt - (yy + RIDGE) * xt) / determinant
    v = (xy * xt - (xx + RIDGE) * yt) / determinant
    return {"u": u.astype(np.float32), "v": v.astype(np.float32)}


def _sum(plane: np.ndarray) -> np.ndarray:
    side = 2 * RADIUS + 1
    wide = np.pad(plane, RADIUS, mode="edge")
    return np.lib.stride_tricks.sliding_window_view(wide, (side, side)).sum(axis=(-2, -1))


def pipeline() -> po.Scop:
    """The program: derivatives, sums of five products, and the solution for u and for v."""
    size = [po.size("H"), po.size("W")]
    one, two = po.input("one", po.f32, size), po.input("two", po.f32, size)
    edge = po.clamped(one)
    ix = po.stage("ix", size, lambda y, x: (edge[y, x + 1] - edge[y, x - 1]) / 2)
    iy = po.stage("iy", size, lambda y, x: (edge[y + 1, x] - edge[y - 1, x]) / 2)
    it = po.stage("it", size, lambda y, x: two[y, x] - one[y, x])

    def total(name: str, a: po.Stage, b: po.Stage) -> po.Stage:
        reach = (-RADIUS, RADIUS + 1)
        product = po.clamped(po.stage(f"{name}_product", size, lambda y, x: a[y, x] * b[y, x]))
        return po.stage(
            name,
            size,
            lambda y, x: po.sum(lambda dy, dx: product[y + dy, x + dx], dy=reach, dx=reach),
        )

    xx, yy, xy = total("xx", ix, ix), total("yy", iy, iy), total("xy", ix, iy)
    xt, yt = total("xt", ix, it), total("yt", iy, it)

    def solved(y: po.Term, x: po.Term, own: po.Stage, other: po.Stage, by: po.Stage) -> po.Term:
        p, q, mixed = xx[y, x] + RIDGE, yy[y, x] + RIDGE, xy[y, x]
        return (mixed * other[y, x] - (by[y, x] + RIDGE) * own[y, x]) / (p * q - mixed * mixed)

    u = po.stage("u", size, lambda y, x: solved(y, x, xt, yt, yy))
    v = po.stage("v", size, lambda y, x: solved(y, x, yt, xt, xx))
    return po.pipeline(u, v, name="lucas_kanade", context=["H >= 1", "W >= 1"])
