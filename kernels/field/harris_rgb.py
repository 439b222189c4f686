"""Harris corner response of an interleaved image. Class: interleaved channels."""

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
    "test": {"H": 9, "W": 21},
    "tiny": {"H": 1, "W": 1},
}
LUMA = (0.299, 0.587, 0.114)


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` u8 ``[H][W][3]``."""
    return {"img": rng.integers(0, 256, (sizes["H"], sizes["W"], 3), dtype=np.uint8)}


def reference(*, img: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``response`` f32 ``[H][W]``; the border of each stage repeats."""
    gray = (img.astype(np.float32) @ np.array(LUMA, np.float32)) / np.float32(255)
    ix, iy = _sobel(gray.T).T, _sobel(gray)
    xx, yy, xy = (_summed(product) for product in (ix * ix, iy * iy, ix * iy))
    return {"response": xx * yy - xy * xy - np.float32(0.04) * (xx + yy) ** 2}


def _sobel(image: np.ndarray) -> np.ndarray:
    """The derivative along the first axis, smoothed along the second one."""
    wide = np.pad(image, 1, mode="edge")
    steps = wide[2:] - wide[:-2]
    return steps[:, :-2] + np.float32(2) * steps[:, 1:-1] + steps[:, 2:]


def _summed(image: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(image, 1, mode="edge"), (3, 3))
    return windows.sum(axis=(-2, -1), dtype=np.float32)


def pipeline() -> po.Scop:
    """The program: luma, derivatives, their products, sums of windows, the response."""
    size = [po.size("H"), po.size("W")]
    img = po.input("img", po.u8, [*size, 3])
    gray = po.clamped(
        po.stage(
            "gray",
            size,
            lambda y, x: sum(w * po.cast(po.f32, img[y, x, c]) for c, w in enumerate(LUMA)) / 255,
        )
    )
    ix = po.stage(
        "ix",
        size,
        lambda y, x: sum(
            w * (gray[y + k, x + 1] - gray[y + k, x - 1]) for k, w in ((-1, 1), (0, 2), (1, 1))
        ),
    )
    iy = po.stage(
        "iy",
        size,
        lambda y, x: sum(
            w * (gray[y + 1, x + k] - gray[y - 1, x + k]) for k, w in ((-1, 1), (0, 2), (1, 1))
        ),
    )

    def summed(name: str, one: po.Stage, other: po.Stage) -> po.Stage:
        product = po.stage(f"{name}_product", size, lambda y, x: one[y, x] * other[y, x])
        wide = po.clamped(product)
        return po.stage(
            name,
            size,
            lambda y, x: po.sum(lambda dy, dx: wide[y + dy, x + dx], dy=(-1, 2), dx=(-1, 2)),
        )

    xx, yy, xy = summed("xx", ix, ix), summed("yy", iy, iy), summed("xy", ix, iy)

    def corner(y: po.Term, x: po.Term) -> po.Term:
        trace = xx[y, x] + yy[y, x]
        return xx[y, x] * yy[y, x] - xy[y, x] * xy[y, x] - 0.04 * trace * trace

    return po.pipeline(
        po.stage("response", size, corner), name="harris_rgb", context=["H >= 1", "W >= 1"]
    )


def opencv(
    cv2: ModuleType, *, img: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``transform`` to luma, ``Sobel`` and unnormalised ``boxFilter``, each with the border."""
    luma = np.array([LUMA], np.float32) / np.float32(255)
    edge = cv2.BORDER_REPLICATE

    def call() -> dict[str, np.ndarray]:
        gray = cv2.transform(img.astype(np.float32), luma)
        ix = cv2.Sobel(gray, cv2.CV_32F, 1, 0, ksize=3, borderType=edge)
        iy = cv2.Sobel(gray, cv2.CV_32F, 0, 1, ksize=3, borderType=edge)
        xx, yy, xy = (
            cv2.boxFilter(cv2.multiply(a, b), -1, (3, 3), normalize=False, borderType=edge)
            for a, b in ((ix, ix), (iy, iy), (ix, iy))
        )
        trace = cv2.add(xx, yy)
        det = cv2.subtract(cv2.multiply(xx, yy), cv2.multiply(xy, xy))
        return {"response": cv2.subtract(det, cv2.multiply(trace, trace, scale=0.04))}

    return call
