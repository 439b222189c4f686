"""Unsharp masking of an interleaved image of 8 bits. Class: larger code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1080, "W": 1920},
    "demo": {"H": 720, "W": 1280},
    "test": {"H": 7, "W": 19},
    "tiny": {"H": 1, "W": 1},
}
#: binomial weights, which add up to 64 in each direction
TAPS = (1, 6, 15, 20, 15, 6, 1)


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``img`` u8 ``[H][W][3]``, ``amount`` f32."""
    img = rng.integers(0, 256, (sizes["H"], sizes["W"], 3), dtype=np.uint8)
    return {"img": img, "amount": np.float32(1.5)}


def reference(*, img: np.ndarray, amount: np.float32, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` u8 ``[H][W][3]``, rounded down; the border repeats."""
    height, width, _ = img.shape
    wide = np.pad(img.astype(np.float32), ((3, 3), (0, 0), (0, 0)), mode="edge")
    columns = sum(np.float32(t) * wide[k : k + height] for k, t in enumerate(TAPS))
    wide = np.pad(columns, ((0, 0), (3, 3), (0, 0)), mode="edge")
    soft = sum(np.float32(t) * wide[:, k : k + width] for k, t in enumerate(TAPS))
    soft = soft * np.float32(1 / 4096)
    sharp = img.astype(np.float32) + amount * (img.astype(np.float32) - soft)
    return {"out": np.clip(sharp, 0, 255).astype(np.uint8)}


def pipeline() -> po.Scop:
    """The program: down columns, along rows, and what is left is added."""
    size = [po.size("H"), po.size("W"), 3]
    img, amount = po.input("img", po.u8, size), po.scalar("amount", po.f32)
    taps = list(enumerate(TAPS, -3))
    edge = po.clamped(img)
    columns = po.clamped(
        po.stage(
            "columns",
            size,
            lambda y, x, c: sum(t * po.cast(po.f32, edge[y + k, x, c]) for k, t in taps),
        )
    )
    soft = po.stage(
        "soft",
        size,
        lambda y, x, c: sum(t * columns[y, x + k, c] for k, t in taps) * (1 / 4096),
    )

    def sharpened(y: po.Term, x: po.Term, c: po.Term) -> po.Term:
        here = po.cast(po.f32, img[y, x, c])
        return po.cast(po.u8, po.clamp(here + amount * (here - soft[y, x, c]), 0.0, 255.0))

    out = po.stage("out", size, sharpened)
    return po.pipeline(out, name="unsharp_rgb", context=["H >= 1", "W >= 1"])


def opencv(
    cv2: ModuleType, *, img: np.ndarray, amount: np.float32, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``sepFilter2D`` in floats, and arithmetic on whole images."""
    weights, edge = np.array(TAPS, np.float32) / np.float32(64), cv2.BORDER_REPLICATE

    def call() -> dict[str, np.ndarray]:
        wide = img.astype(np.float32)
        soft = cv2.sepFilter2D(wide, -1, weights, weights, borderType=edge)
        sharp = wide + amount * (wide - soft)
        return {"out": np.clip(sharp, 0, 255).astype(np.uint8)}

    return call
