"""A matrix of 3 x 4 applied to the colours of an interleaved image. Class: interleaved channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1440, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 7, "W": 19},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W][3]``; ``m`` f32 ``[3][4]``, the last column an offset."""
    return {
        "img": rng.random((sizes["H"], sizes["W"], 3), dtype=np.float32),
        "m": rng.standard_normal((3, 4), dtype=np.float32),
    }


def reference(*, img: np.ndarray, m: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W][3]``, cut to [0, 1]."""
    return {"out": np.clip(img @ m[:, :3].T + m[:, 3], 0, 1)}


def pipeline() -> po.Scop:
    """The program: one stage, with a sum over the channels of the input."""
    size = [po.size("H"), po.size("W"), 3]
    img, m = po.input("img", po.f32, size), po.input("m", po.f32, [3, 4])
    out = po.stage(
        "out",
        size,
        lambda y, x, c: po.clamp(po.sum(lambda k: m[c, k] * img[y, x, k], k=3) + m[c, 3], 0.0, 1.0),
    )
    return po.pipeline(out, name="color_matrix")


def opencv(
    cv2: ModuleType, *, img: np.ndarray, m: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``transform``, and ``np.clip`` in place."""

    def call() -> dict[str, np.ndarray]:
        out = cv2.transform(img, m)
        return {"out": np.clip(out, 0, 1, out=out)}

    return call


def torch(
    torch: ModuleType, *, img: np.ndarray, m: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``linear`` over the last dimension."""
    image, matrix = torch.from_numpy(img), torch.from_numpy(m)
    weights, offset = matrix[:, :3].contiguous(), matrix[:, 3].contiguous()
    linear = torch.nn.functional.linear
    return lambda: {"out": linear(image, weights, offset).clamp_(0, 1).numpy()}
