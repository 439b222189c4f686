"""Magnitude and direction of Sobel's gradient. Class: several results."""

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
    "test": {"H": 9, "W": 31},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W]`` in [0, 1)."""
    return {"img": rng.random((sizes["H"], sizes["W"]), dtype=np.float32)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``magnitude`` and ``direction`` (radians) f32 ``[H][W]``; the border is mirrored."""
    wide = np.pad(img, 1, mode="symmetric")
    down = wide[:-2] + np.float32(2) * wide[1:-1] + wide[2:]
    across = wide[:, :-2] + np.float32(2) * wide[:, 1:-1] + wide[:, 2:]
    gx, gy = down[:, 2:] - down[:, :-2], across[2:] - across[:-2]
    return {"magnitude": np.sqrt(gx * gx + gy * gy), "direction": np.arctan2(gy, gx)}


def pipeline() -> po.Scop:
    """The program: both derivatives, and two stages that read both."""
    size = [po.size("H"), po.size("W")]
    img = po.mirrored(po.input("img", po.f32, size))
    gx = po.stage(
        "gx",
        size,
        lambda y, x: (
            (img[y - 1, x + 1] + 2 * img[y, x + 1] + img[y + 1, x + 1])
            - (img[y - 1, x - 1] + 2 * img[y, x - 1] + img[y + 1, x - 1])
        ),
    )
    gy = po.stage(
        "gy",
        size,
        lambda y, x: (
            (img[y + 1, x - 1] + 2 * img[y + 1, x] + img[y + 1, x + 1])
            - (img[y - 1, x - 1] + 2 * img[y - 1, x] + img[y - 1, x + 1])
        ),
    )
    magnitude = po.stage(
        "magnitude", size, lambda y, x: po.sqrt(gx[y, x] * gx[y, x] + gy[y, x] * gy[y, x])
    )
    direction = po.stage("direction", size, lambda y, x: po.atan2(gy[y, x], gx[y, x]))
    return po.pipeline(magnitude, direction, name="sobel_polar", context=["H >= 1", "W >= 1"])


def opencv(
    cv2: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """Both of ``Sobel``, and ``magnitude``; ``phase`` is less accurate than the reference."""

    def call() -> dict[str, np.ndarray]:
        edge = cv2.BORDER_REFLECT
        gx = cv2.Sobel(img, cv2.CV_32F, 1, 0, ksize=3, borderType=edge)
        gy = cv2.Sobel(img, cv2.CV_32F, 0, 1, ksize=3, borderType=edge)
        return {"magnitude": cv2.magnitude(gx, gy), "direction": np.arctan2(gy, gx)}

    return call


def torch(
    torch: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """A convolution with two filters on the padded image."""
    plane = torch.from_numpy(np.pad(img, 1, mode="symmetric"))[None, None]
    down = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]])
    filters = torch.stack([down, down.T])[:, None]

    def call() -> dict[str, np.ndarray]:
        gx, gy = torch.nn.functional.conv2d(plane, filters)[0]
        return {
            "magnitude": torch.hypot(gx, gy).numpy(),
            "direction": torch.atan2(gy, gx).numpy(),
        }

    return call
