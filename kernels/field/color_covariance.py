"""Mean colour of an image and covariance of its channels. Class: fused reductions."""

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
    "tiny": {"H": 1, "W": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W][3]``."""
    return {"img": rng.random((sizes["H"], sizes["W"], 3), dtype=np.float32)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``mean`` f64 ``[3]`` and ``covariance`` f64 ``[3][3]``."""
    pixels = img.reshape(-1, 3).astype(np.float64)
    mean = pixels.mean(axis=0)
    return {"mean": mean, "covariance": (pixels - mean).T @ (pixels - mean) / len(pixels)}


def pipeline() -> po.Scop:
    """The program: sums over the image, centred in a second pass."""
    h, w = po.size("H"), po.size("W")
    img = po.input("img", po.f32, [h, w, 3])
    count = po.cast(po.f64, h) * po.cast(po.f64, w)
    mean = po.stage(
        "mean", [3], lambda c: po.sum(lambda y, x: po.cast(po.f64, img[y, x, c]), y=h, x=w) / count
    )

    def product(i: po.Term, j: po.Term) -> po.Term:
        return po.sum(
            lambda y, x: (
                (po.cast(po.f64, img[y, x, i]) - mean[i])
                * (po.cast(po.f64, img[y, x, j]) - mean[j])
            ),
            y=h,
            x=w,
        )

    covariance = po.stage("covariance", [3, 3], lambda i, j: product(i, j) / count)
    return po.pipeline(mean, covariance, name="color_covariance")


def torch(
    torch: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``mean`` and ``cov`` in double precision."""
    pixels = torch.from_numpy(img.reshape(-1, 3))

    def call() -> dict[str, np.ndarray]:
        wide = pixels.double()
        covariance = torch.cov(wide.T, correction=0)
        return {"mean": wide.mean(0).numpy(), "covariance": covariance.numpy()}

    return call
