"""A chain of 32 weighted 5 x 5 windows on 16-bit pixels, Halide's app ``stencil_chain``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polyopt as po

STAGES = 32
#: how far a window reaches, and its weights in each direction
REACH = 2
WEIGHTS = {-2: 1, -1: 2, 0: 3, 1: 4, 2: 5}

SIZES = {
    "bench": {"H": 2560, "W": 1536},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 3, "W": 7},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u16 ``[H][W]``, all 16 bits random."""
    return {"img": rng.integers(0, 1 << 16, (sizes["H"], sizes["W"]), dtype=np.uint16)}


def from_photo(photo: np.ndarray) -> dict[str, np.ndarray]:
    """The photograph in black and white, on the highest of 16 bits.

    The sums wrap around. On the highest bit only odd weights count, and 32 windows of them are
    nine weights, 64 pixels apart: the result is the exclusive or of nine copies.
    """
    grey = photo @ np.array([0.299, 0.587, 0.114])
    return {"img": (grey > np.median(grey)).astype(np.uint16) << np.uint16(15)}


def to_picture(outputs: dict[str, np.ndarray], _inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The highest bit, black or white."""
    return (outputs["out"] >> 15).astype(np.uint8) * np.uint8(255)


def input_picture(inputs: dict[str, np.ndarray]) -> np.ndarray:
    """What is computed on: the image's highest bit."""
    return to_picture({"out": inputs["img"]}, {})


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` u16 ``[H][W]``: sums modulo 2^16, in which the weights separate exactly."""
    result = np.pad(img, STAGES * REACH, mode="edge")
    for _ in range(STAGES):
        result = _weighted(_weighted(result).T).T
    return {"out": np.ascontiguousarray(result)}


def _weighted(image: np.ndarray) -> np.ndarray:
    rows = len(image) - 2 * REACH
    result = np.zeros((rows, image.shape[1]), np.uint16)
    for offset, weight in WEIGHTS.items():
        result += np.uint16(weight) * image[REACH + offset :][:rows]
    return result


def pipeline() -> po.Scop:
    """The program: outside the image its edge repeats, and all but the last stage go beyond it."""
    import polyopt as po

    img = po.input("img", po.u16, ["H", "W"])
    edge = po.clamped(img)
    last = po.stage("f0", _extents(STAGES), lambda y, x: edge[y, x])
    for number in range(1, STAGES + 1):
        name = "out" if number == STAGES else f"f{number}"
        extents = _extents(STAGES - number)
        last = po.stage(name, extents, lambda y, x, last=last: _window(last, y, x))
    return po.pipeline(last, name="stencil_chain", context=["H >= 1", "W >= 1"])


def _extents(stages: int) -> list[tuple[str, str]]:
    """What this many windows after a stage make of the image need of the stage."""
    margin = REACH * stages
    return [(f"-{margin}", f"{size} + {margin}") for size in ("H", "W")]


def _window(image: po.Stage, y: po.Term, x: po.Term) -> po.Term:
    first, *others = (
        wy * wx * image[y + j, x + i] for j, wy in WEIGHTS.items() for i, wx in WEIGHTS.items()
    )
    return sum(others, start=first)
