"""Bilateral grid: smooths an image and keeps its edges, by a blur in space and in brightness.

Brightness becomes a third dimension of a coarse grid, in which a blur does not cross an edge; the
result is read back between its points. The definition is that of Halide's app ``bilateral_grid``,
for an image of any size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from polyopt.frontend.stages import Stage, Term

#: pixels per point of the grid, in rows and in columns
CELL = 8
#: levels of brightness that pixels fall into: those of an ``r_sigma`` of at least 0.1
LEVELS = 11

SIZES = {
    "bench": {"H": 2560, "W": 1536},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 13, "W": 19},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``img`` f32 ``[H][W]``, a 12-bit image scaled to [0, 1]; ``r_sigma`` f32, in its units.

    ``r_sigma`` is the step between levels of brightness. With 12 bits, no value is so near to the
    limit of a level that rounding decides where it belongs.
    """
    raw = rng.integers(0, 4096, (sizes["H"], sizes["W"]), endpoint=True)
    return {"img": (raw / 4096).astype(np.float32), "r_sigma": np.float32(0.1)}


def reference(*, img: np.ndarray, r_sigma: float, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W]``."""
    height, width = img.shape
    inverse = np.float32(1) / np.float32(r_sigma)
    grid = _reference_histogram(img, inverse)
    for axis in (3, 1, 0):
        grid = _reference_blur(grid, axis)
    value = np.clip(img, 0, 1) * inverse
    z = value.astype(np.int64)
    y, x = np.mgrid[:height, :width]
    corners = [
        [[grid[y // CELL + j, x // CELL + i, :, z + k] for i in (0, 1)] for j in (0, 1)]
        for k in (0, 1)
    ]
    weights = (part.astype(np.float32)[..., None] for part in (x % 8 / 8, y % 8 / 8, value - z))
    x_weight, y_weight, z_weight = weights
    levels = [
        _reference_lerp(*(_reference_lerp(*row, x_weight) for row in level), y_weight)
        for level in corners
    ]
    total, count = np.moveaxis(_reference_lerp(*levels, z_weight), -1, 0)
    return {"out": total / count}


def _reference_histogram(img: np.ndarray, inverse: np.float32) -> np.ndarray:
    """f32 ``[rows][columns][2][levels]``: per cell and level the sum, and the number, of values.

    The grid has two points more on each side than are read after the blurs.
    """
    rows, columns = ((n - 1) // CELL + 6 for n in img.shape)
    # cell (0, 0) begins 2 cells and a half before the image
    before = 2 * CELL + CELL // 2
    pads = [
        (before, CELL * n - before - size)
        for n, size in zip((rows, columns), img.shape, strict=True)
    ]
    values = np.clip(np.pad(img, pads, mode="edge"), 0, 1)
    level = (values * inverse + np.float32(0.5)).astype(np.int64) + 2
    grid = np.zeros((rows, columns, 2, LEVELS + 5), np.float32)
    y, x = np.indices(values.shape) // CELL
    np.add.at(grid, (y, x, 0, level), values)
    np.add.at(grid, (y, x, 1, level), np.float32(1))
    return grid


def _reference_blur(grid: np.ndarray, axis: int) -> np.ndarray:
    """Weights 1 4 6 4 1 along an axis, which is shorter by 4 afterwards; they add up to 16."""
    length = grid.shape[axis] - 4
    a, b, c, d, e = (grid.take(range(k, k + length), axis) for k in range(5))
    return a + np.float32(4) * b + np.float32(6) * c + np.float32(4) * d + e


def _reference_lerp(one: np.ndarray, other: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return one + (other - one) * weight


def pipeline() -> po.Scop:
    """The program, as five stages.

    The histogram of a cell asks each of its pixels at each level: no stage writes to a place that
    its data decide. Grids have their levels side by side, which makes that one vector of numbers.
    """
    height, width = po.size("H"), po.size("W")
    edge = po.clamped(po.input("img", po.f32, (height, width)))
    r_sigma = po.scalar("r_sigma", po.f32)

    def value(y: Term, x: Term) -> Term:
        return po.clamp(edge[y, x], 0, 1)

    def pixels(y: Term, x: Term, c: Term, z: Term) -> Term:
        def part(ry: Term, rx: Term) -> Term:
            v = value(CELL * y + ry - CELL // 2, CELL * x + rx - CELL // 2)
            level = po.cast("i32", v * (1 / r_sigma) + 0.5)
            return po.select(z == level, po.select(c == 0, v, 1), 0)

        return po.sum(part, ry=CELL, rx=CELL)

    # the last cell is that after the last pixel's
    rows, columns = ((n - 1) // CELL + 2 for n in (height, width))
    histogram = po.stage(
        "histogram", ((-2, rows + 2), (-2, columns + 2), 2, (-2, LEVELS + 3)), pixels
    )
    blur_z = po.stage(
        "blur_z",
        ((-2, rows + 2), (-2, columns + 2), 2, LEVELS + 1),
        lambda y, x, c, z: _blur([histogram[y, x, c, z + k] for k in range(-2, 3)]),
    )
    blur_x = po.stage(
        "blur_x",
        ((-2, rows + 2), columns, 2, LEVELS + 1),
        lambda y, x, c, z: _blur([blur_z[y, x + k, c, z] for k in range(-2, 3)]),
    )
    blur_y = po.stage(
        "blur_y",
        (rows, columns, 2, LEVELS + 1),
        lambda y, x, c, z: _blur([blur_x[y + k, x, c, z] for k in range(-2, 3)]),
    )

    def sliced(y: Term, x: Term) -> Term:
        total, count = (_between(blur_y, y, x, c, value(y, x) * (1 / r_sigma)) for c in (0, 1))
        return total / count

    return po.pipeline(
        po.stage("out", (height, width), sliced),
        name="bilateral_grid",
        context=["H >= 1", "W >= 1"],
    )


def _blur(five: list[Term]) -> Term:
    """Weights 1 4 6 4 1; they add up to 16, for values and counts alike."""
    a, b, c, d, e = five
    return a + 4 * b + 6 * c + 4 * d + e


def _between(grid: Stage, y: Term, x: Term, c: int, level: Term) -> Term:
    """The grid at a pixel and a level of brightness, linear between the eight points around."""
    # only the clamp says that a level of data lies inside the grid
    z = po.clamp(po.cast("i32", level), 0, LEVELS - 1)

    def plane(z: Term) -> Term:
        top, bottom = (
            _lerp(
                grid[j, x // CELL, c, z],
                grid[j, x // CELL + 1, c, z],
                po.cast("f32", x % CELL) / CELL,
            )
            for j in (y // CELL, y // CELL + 1)
        )
        return _lerp(top, bottom, po.cast("f32", y % CELL) / CELL)

    return _lerp(plane(z), plane(z + 1), level - po.cast("f32", z))


def _lerp(one: Term, other: Term, weight: Term) -> Term:
    return one + (other - one) * weight
