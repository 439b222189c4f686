"""Canny's edges up to the double threshold: blur, gradient, suppression. Class: larger code."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "bench": {"H": 1080, "W": 1920},
    "demo": {"H": 720, "W": 1280},
    "test": {"H": 9, "W": 23},
    "tiny": {"H": 1, "W": 1},
}
#: weights of the blur; strong and weak edges; the tangent of 22.5 degrees
TAPS = (0.0625, 0.25, 0.375, 0.25, 0.0625)
HIGH, LOW = 0.9, 0.5
TANGENT = 0.41421356


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W]``, in 4096ths."""
    raw = rng.integers(0, 4096, (sizes["H"], sizes["W"]))
    return {"img": (raw / 4096).astype(np.float32)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``edges`` u8 ``[H][W]``: 2 strong, 1 weak, 0 none."""
    taps = np.array(TAPS, np.float32)
    wide = np.pad(img, ((0, 0), (2, 2)), mode="edge")
    rows = sum(t * wide[:, k : k + img.shape[1]] for k, t in enumerate(taps))
    wide = np.pad(rows, ((2, 2), (0, 0)), mode="edge")
    soft = np.pad(sum(t * wide[k : k + img.shape[0]] for k, t in enumerate(taps)), 1, mode="edge")
    two = np.float32(2)
    right = soft[:-2, 2:] + two * soft[1:-1, 2:] + soft[2:, 2:]
    left = soft[:-2, :-2] + two * soft[1:-1, :-2] + soft[2:, :-2]
    below = soft[2:, :-2] + two * soft[2:, 1:-1] + soft[2:, 2:]
    above = soft[:-2, :-2] + two * soft[:-2, 1:-1] + soft[:-2, 2:]
    gx, gy = right - left, below - above
    size = gx * gx + gy * gy
    ax, ay, tangent = np.abs(gx), np.abs(gy), np.float32(TANGENT)
    ring = np.pad(size, 1)
    flat, steep = ay <= tangent * ax, ax <= tangent * ay
    falling = gx * gy > 0
    dy = np.where(flat, 0, 1)
    dx = np.where(flat, 1, np.where(steep, 0, np.where(falling, 1, -1)))
    y, x = np.mgrid[1 : img.shape[0] + 1, 1 : img.shape[1] + 1]
    peak = (size >= ring[y + dy, x + dx]) & (size > ring[y - dy, x - dx])
    strength = np.where(size > np.float32(HIGH**2), 2, np.where(size > np.float32(LOW**2), 1, 0))
    return {"edges": np.where(peak, strength, 0).astype(np.uint8)}


def pipeline() -> po.Scop:
    """The program: a separable blur, both derivatives, the size, and what is a ridge of it."""
    shape = [po.size("H"), po.size("W")]
    img = po.clamped(po.input("img", po.f32, shape))
    taps = list(enumerate(TAPS, -2))
    rows = po.clamped(po.stage("rows", shape, lambda y, x: sum(t * img[y, x + k] for k, t in taps)))
    soft = po.clamped(
        po.stage("soft", shape, lambda y, x: sum(t * rows[y + k, x] for k, t in taps))
    )

    def line(y: po.Term, x: po.Term, dy: int, dx: int) -> po.Term:
        """Three pixels weighted 1 2 1, on the side that is given."""
        if dx:
            return soft[y - 1, x + dx] + 2 * soft[y, x + dx] + soft[y + 1, x + dx]
        return soft[y + dy, x - 1] + 2 * soft[y + dy, x] + soft[y + dy, x + 1]

    gx = po.stage("gx", shape, lambda y, x: line(y, x, 0, 1) - line(y, x, 0, -1))
    gy = po.stage("gy", shape, lambda y, x: line(y, x, 1, 0) - line(y, x, -1, 0))
    size = po.stage("size", shape, lambda y, x: gx[y, x] * gx[y, x] + gy[y, x] * gy[y, x])
    ring = po.padded(size, 0)

    def edge(y: po.Term, x: po.Term) -> po.Term:
        across, along = _magnitude(gx[y, x]), _magnitude(gy[y, x])

        def beside(sign: int) -> po.Term:
            diagonal = po.select(
                gx[y, x] * gy[y, x] > 0, ring[y + sign, x + sign], ring[y + sign, x - sign]
            )
            upright = po.select(across <= TANGENT * along, ring[y + sign, x], diagonal)
            return po.select(along <= TANGENT * across, ring[y, x + sign], upright)

        here = size[y, x]
        strength = po.select(here > HIGH**2, 2, po.select(here > LOW**2, 1, 0))
        ridge = po.select(here > beside(-1), strength, 0)
        return po.cast(po.u8, po.select(here >= beside(1), ridge, 0))

    edges = po.stage("edges", shape, edge)
    return po.pipeline(edges, name="canny_edges", context=["H >= 1", "W >= 1"])


def _magnitude(value: po.Term) -> po.Term:
    return po.max(value, -value)
