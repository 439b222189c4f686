"""Bilinear demosaicing of a Bayer mosaic RGGB. Class: larger code."""

from __future__ import annotations

import numpy as np

import polyopt as po

SIZES = {
    "bench": {"H": 768, "W": 1024},
    "demo": {"H": 540, "W": 960},
    "test": {"H": 5, "W": 9},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``raw`` u16 ``[2 H][2 W]`` of 12 bits: rows R G R G ... and G B G B ... in turn."""
    return {"raw": rng.integers(0, 4096, (2 * sizes["H"], 2 * sizes["W"]), dtype=np.uint16)}


def reference(*, raw: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``rgb`` u16 ``[2 H][2 W][3]``; the mosaic is mirrored at the border without its edge.

    Each missing colour is the mean of the nearest pixels that have it, rounded down.
    """
    wide = np.pad(raw.astype(np.int64), 1, mode="reflect")
    colour = np.pad(np.tile([[0, 1], [1, 2]], (raw.shape[0] // 2, raw.shape[1] // 2)), 1, "reflect")
    rgb = np.empty((*raw.shape, 3), np.uint16)
    views = np.lib.stride_tricks.sliding_window_view
    pixels, colours = views(wide, (3, 3)), views(colour, (3, 3))
    for c in range(3):
        mask = colours == c
        # what is nearest has a weight that outdoes the others
        mask[..., 1, 1] &= colours[..., 1, 1] == c
        total = (pixels * mask).sum(axis=(-2, -1)) // mask.sum(axis=(-2, -1))
        known = colour[1:-1, 1:-1] == c
        rgb[..., c] = np.where(known, raw, total)
    return {"rgb": rgb}


def pipeline() -> po.Scop:
    """The program: one stage, which asks where in its quad a pixel stands."""
    h, w = 2 * po.size("H"), 2 * po.size("W")
    raw = po.mirrored(po.input("raw", po.u16, [h, w]), edge=False)

    def pixel(y: po.Term, x: po.Term, c: po.Term) -> po.Term:
        def at(*steps: tuple[int, int]) -> po.Term:
            total = sum(po.cast(po.i32, raw[y + dy, x + dx]) for dy, dx in steps)
            return total // len(steps)

        here = at((0, 0))
        row, column = at((0, -1), (0, 1)), at((-1, 0), (1, 0))
        cross = at((-1, 0), (1, 0), (0, -1), (0, 1))
        corners = at((-1, -1), (-1, 1), (1, -1), (1, 1))
        even_y, even_x = y % 2 == 0, x % 2 == 0
        of_red_row = po.select(
            even_x,
            po.select(c == 0, here, po.select(c == 1, cross, corners)),
            po.select(c == 0, row, po.select(c == 1, here, column)),
        )
        of_blue_row = po.select(
            even_x,
            po.select(c == 0, column, po.select(c == 1, here, row)),
            po.select(c == 0, corners, po.select(c == 1, cross, here)),
        )
        return po.cast(po.u16, po.select(even_y, of_red_row, of_blue_row))

    rgb = po.stage("rgb", [h, w, 3], pixel)
    return po.pipeline(rgb, name="demosaic", context=["H >= 1", "W >= 1"])
