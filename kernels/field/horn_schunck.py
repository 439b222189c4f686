"""One iteration of the optical flow of Horn and Schunck, u and v. Class: several results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"H": 1440, "W": 2048},
    "demo": {"H": 1080, "W": 1920},
    "test": {"H": 9, "W": 23},
    "tiny": {"H": 3, "W": 3},
}
#: weights of the mean around a pixel
MEAN = np.array([[1, 2, 1], [2, 0, 2], [1, 2, 1]], np.float32) / np.float32(12)


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``alpha`` f32; derivatives ``ix``, ``iy``, ``it``, velocities ``u``, ``v`` f32 ``[H][W]``.

    The border of the new velocities, ``u_next`` and ``v_next``, stays as it is given.
    """
    names = ("ix", "iy", "it", "u", "v", "u_next", "v_next")
    fields = rng.standard_normal((len(names), sizes["H"], sizes["W"]), dtype=np.float32)
    return {"alpha": np.float32(1.5), **dict(zip(names, fields, strict=True))}


def reference(*, alpha: np.float32, **fields: np.ndarray) -> dict[str, np.ndarray]:
    """``u_next`` and ``v_next`` f32 ``[H][W]``."""
    ix, iy, it = (fields[name][1:-1, 1:-1] for name in ("ix", "iy", "it"))
    means = [
        np.einsum("yxij,ij->yx", np.lib.stride_tricks.sliding_window_view(fields[n], (3, 3)), MEAN)
        for n in "uv"
    ]
    rate = (ix * means[0] + iy * means[1] + it) / (alpha**2 + ix**2 + iy**2)
    found = {}
    for name, mean, slope in zip(("u_next", "v_next"), means, (ix, iy), strict=True):
        found[name] = fields[name].copy()
        found[name][1:-1, 1:-1] = mean - slope * rate
    return found


def opencv(
    cv2: ModuleType,
    *,
    alpha: np.float32,
    ix: np.ndarray,
    iy: np.ndarray,
    it: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    u_next: np.ndarray,
    v_next: np.ndarray,
    **_sizes: int,
) -> Callable[[], dict[str, np.ndarray]]:
    """``filter2D`` for the means, then arithmetic on whole images."""

    def call() -> dict[str, np.ndarray]:
        u_mean, v_mean = cv2.filter2D(u, -1, MEAN), cv2.filter2D(v, -1, MEAN)
        p = cv2.add(cv2.add(cv2.multiply(ix, u_mean), cv2.multiply(iy, v_mean)), it)
        d = cv2.add(cv2.multiply(ix, ix), cv2.multiply(iy, iy))
        rate = cv2.divide(p, cv2.add(d, float(alpha * alpha)))
        for mean, slope, out in ((u_mean, ix, u_next), (v_mean, iy, v_next)):
            new = cv2.subtract(mean, cv2.multiply(slope, rate))
            out[1:-1, 1:-1] = new[1:-1, 1:-1]
        return {"u_next": u_next, "v_next": v_next}

    return call
