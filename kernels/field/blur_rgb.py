"""Box blur, 3 x 3, of an interleaved image of 8 bits. Class: interleaved channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1538, "W": 2050},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 9, "W": 21},
    "tiny": {"H": 3, "W": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u8 ``[H][W][3]``, and ``out`` with the border that stays: zeros."""
    shape = sizes["H"], sizes["W"], 3
    return {"img": rng.integers(0, 256, shape, dtype=np.uint8), "out": np.zeros(shape, np.uint8)}


def reference(*, img: np.ndarray, out: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` u8 ``[H][W][3]``."""
    windows = np.lib.stride_tricks.sliding_window_view(img.astype(np.int32), (3, 3), (0, 1))
    out = out.copy()
    out[1:-1, 1:-1] = (windows.sum(axis=(-2, -1)) + 4) // 9
    return {"out": out}


def opencv(
    cv2: ModuleType, *, img: np.ndarray, out: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``blur`` of all channels at once; the inner part is copied."""

    def call() -> dict[str, np.ndarray]:
        out[1:-1, 1:-1] = cv2.blur(img, (3, 3))[1:-1, 1:-1]
        return {"out": out}

    return call


def numba(
    numba: ModuleType, *, img: np.ndarray, out: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads."""

    @numba.njit(parallel=True)
    def run(img: np.ndarray, out: np.ndarray) -> None:
        for y in numba.prange(1, img.shape[0] - 1):
            for x in range(1, img.shape[1] - 1):
                for c in range(3):
                    total = 4
                    for dy in range(-1, 2):
                        for dx in range(-1, 2):
                            total += np.int32(img[y + dy, x + dx, c])
                    out[y, x, c] = total // 9

    def call() -> dict[str, np.ndarray]:
        run(img, out)
        return {"out": out}

    return call
