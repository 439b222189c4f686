"""R'G'B' to Y'CbCr of BT.601 in integers, planes of 8 bits. Class: several results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1536, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 9, "W": 37},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """Planes ``r``, ``g``, ``b`` u8 ``[H][W]``."""
    planes = rng.integers(0, 256, (3, sizes["H"], sizes["W"]), dtype=np.uint8)
    return dict(zip("rgb", planes, strict=True))


def reference(
    *, r: np.ndarray, g: np.ndarray, b: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """Planes ``y`` in 16 .. 235, ``u`` and ``v`` in 16 .. 240, u8 ``[H][W]``."""
    r, g, b = (plane.astype(np.int32) for plane in (r, g, b))
    y = ((66 * r + 129 * g + 25 * b + 128) >> 8) + 16
    u = ((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128
    v = ((112 * r - 94 * g - 18 * b + 128) >> 8) + 128
    return {name: plane.astype(np.uint8) for name, plane in (("y", y), ("u", u), ("v", v))}


def pipeline() -> po.Scop:
    """The program: a stage per plane."""
    size = [po.size("H"), po.size("W")]
    r, g, b = (po.input(name, po.u8, size) for name in "rgb")

    def plane(name: str, factors: tuple[int, int, int], offset: int) -> po.Stage:
        def pixel(i: po.Term, j: po.Term) -> po.Term:
            red, green, blue = (po.cast(po.i32, p[i, j]) for p in (r, g, b))
            total = factors[0] * red + factors[1] * green + factors[2] * blue
            return po.cast(po.u8, ((total + 128) >> 8) + offset)

        return po.stage(name, size, pixel)

    y = plane("y", (66, 129, 25), 16)
    u = plane("u", (-38, -74, 112), 128)
    v = plane("v", (112, -94, -18), 128)
    return po.pipeline(y, u, v, name="rgb_to_yuv")


def numba(
    numba: ModuleType, *, r: np.ndarray, g: np.ndarray, b: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """One nest for all planes, rows shared by threads."""

    @numba.njit(parallel=True)
    def run(planes: tuple[np.ndarray, ...], results: tuple[np.ndarray, ...]) -> None:
        y, u, v = results
        for i in numba.prange(y.shape[0]):
            for j in range(y.shape[1]):
                red, green, blue = (
                    np.int32(planes[0][i, j]),
                    np.int32(planes[1][i, j]),
                    np.int32(planes[2][i, j]),
                )
                y[i, j] = ((66 * red + 129 * green + 25 * blue + 128) >> 8) + 16
                u[i, j] = ((-38 * red - 74 * green + 112 * blue + 128) >> 8) + 128
                v[i, j] = ((112 * red - 94 * green - 18 * blue + 128) >> 8) + 128

    results = np.empty_like(r), np.empty_like(r), np.empty_like(r)

    def call() -> dict[str, np.ndarray]:
        run((r, g, b), results)
        return dict(zip("yuv", results, strict=True))

    return call
