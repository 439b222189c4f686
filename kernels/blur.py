"""Box blur, 3 x 3, in two stages on 16-bit pixels: ``blur.c``'s reference and other forms."""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polyopt as po

SIZES = {
    "bench": {"H": 1922, "W": 2562},
    "demo": {"H": 1082, "W": 1922},
    "test": {"H": 13, "W": 19},
    "tiny": {"H": 3, "W": 3},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """A 12-bit image: ``img`` u16 ``[H][W]``."""
    return {"img": rng.integers(0, 4096, (sizes["H"], sizes["W"]), dtype=np.uint16)}


def from_photo(photo: np.ndarray) -> dict[str, np.ndarray]:
    """The photograph in grey, of 12 bits."""
    grey = photo @ np.array([0.299, 0.587, 0.114])
    return {"img": np.rint(grey / 255 * 4095).astype(np.uint16)}


def to_picture(outputs: dict[str, np.ndarray], _inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The upper 8 of 12 bits."""
    return (outputs["out"] >> 4).astype(np.uint8)


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` u16 ``[H - 2][W - 2]``: means over the windows of 3 x 3, rounded down per stage."""
    bx = (img[:, :-2] + img[:, 1:-1] + img[:, 2:]) // np.uint16(3)
    return {"out": (bx[:-2] + bx[1:-1] + bx[2:]) // np.uint16(3)}


def blur(img: po.u16["H", "W"], out: po.u16["H - 2", "W - 2"]) -> None:
    """The same as plain loops: runs as it is, and ``loops`` reads it."""
    H, W = img.shape
    bx = np.empty((H, W - 2), np.uint16)
    for y in range(H):
        for x in range(W - 2):
            bx[y, x] = (img[y, x] + img[y, x + 1] + img[y, x + 2]) // 3
    for y in range(H - 2):
        for x in range(W - 2):
            out[y, x] = (bx[y, x] + bx[y + 1, x] + bx[y + 2, x]) // 3


def loops() -> po.Scop:
    """The program of the loop function."""
    import polyopt as po

    return po.scop(blur)


def stages() -> po.Scop:
    """The program as two stages."""
    import polyopt as po

    img = po.input("img", po.u16, ("H", "W"))
    bx = po.stage(
        "bx",
        ("H", "W - 2"),
        lambda y, x: (img[y, x] + img[y, x + 1] + img[y, x + 2]) // 3,
    )
    out = po.stage(
        "out",
        ("H - 2", "W - 2"),
        lambda y, x: (bx[y, x] + bx[y + 1, x] + bx[y + 2, x]) // 3,
    )
    return po.pipeline(out, name="blur")
