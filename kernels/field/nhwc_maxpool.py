"""Max pooling, 2 x 2 with stride 2, in layout NHWC. Class: interleaved channels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 1, "H": 256, "W": 256, "C": 48},
    "demo": {"N": 1, "H": 112, "W": 112, "C": 32},
    "test": {"N": 2, "H": 7, "W": 9, "C": 5},
    "tiny": {"N": 1, "H": 2, "W": 2, "C": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``x`` f32 ``[N][H][W][C]``."""
    return {"x": rng.standard_normal([sizes[name] for name in "NHWC"], dtype=np.float32)}


def reference(*, x: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[N][H / 2][W / 2][C]``; an odd row or column is left out."""
    n, height, width, channels = x.shape
    even = x[:, : height // 2 * 2, : width // 2 * 2]
    return {"out": even.reshape(n, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))}


def pipeline() -> po.Scop:
    """The program: one stage, a maximum over named ranges."""
    n, h, w, c = (po.size(name) for name in "NHWC")
    x = po.input("x", po.f32, [n, h, w, c])
    out = po.stage(
        "out",
        [n, h // 2, w // 2, c],
        lambda b, i, j, k: po.max(lambda di, dj: x[b, 2 * i + di, 2 * j + dj, k], di=2, dj=2),
    )
    return po.pipeline(out, name="nhwc_maxpool", context=["H >= 2", "W >= 2"])


def torch(
    torch: ModuleType, *, x: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``max_pool2d`` in torch's channels-last format."""
    image = torch.from_numpy(x).permute(0, 3, 1, 2)
    pool = torch.nn.functional.max_pool2d
    return lambda: {"out": pool(image, 2).permute(0, 2, 3, 1).contiguous().numpy()}
