"""An interleaved image in sRGB to linear light, by powers of 2.4. Class: math functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1024, "W": 1024},
    "demo": {"H": 720, "W": 1280},
    "test": {"H": 5, "W": 23},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u8 ``[H][W][3]``."""
    return {"img": rng.integers(0, 256, (sizes["H"], sizes["W"], 3), dtype=np.uint8)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``linear`` f32 ``[H][W][3]``."""
    v = np.arange(256) / 255
    table = np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)
    return {"linear": table.astype(np.float32)[img]}


def pipeline() -> po.Scop:
    """The program: the value as a float, and the curve."""
    size = [po.size("H"), po.size("W"), 3]
    img = po.input("img", po.u8, size)
    v = po.stage("v", size, lambda y, x, c: po.cast(po.f32, img[y, x, c]) / 255)
    linear = po.stage(
        "linear",
        size,
        lambda y, x, c: po.select(
            v[y, x, c] <= 0.04045, v[y, x, c] / 12.92, po.pow((v[y, x, c] + 0.055) / 1.055, 2.4)
        ),
    )
    return po.pipeline(linear, name="srgb_to_linear")


def numba(
    numba: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads."""

    @numba.njit(parallel=True)
    def run(img: np.ndarray, linear: np.ndarray) -> None:
        for y in numba.prange(img.shape[0]):
            for x in range(img.shape[1]):
                for c in range(3):
                    v = np.float32(img[y, x, c]) / np.float32(255)
                    if v <= np.float32(0.04045):
                        linear[y, x, c] = v / np.float32(12.92)
                    else:
                        linear[y, x, c] = (
                            (v + np.float32(0.055)) / np.float32(1.055)
                        ) ** np.float32(2.4)

    linear = np.empty(img.shape, np.float32)

    def call() -> dict[str, np.ndarray]:
        run(img, linear)
        return {"linear": linear}

    return call
