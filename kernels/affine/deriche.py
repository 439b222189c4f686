"""Deriche's recursive smoothing: the reference of ``deriche.c``."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"H": 3000, "W": 3000},
    "demo": {"H": 720, "W": 1280},
    "test": {"H": 9, "W": 13},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``img`` f32 ``[H][W]``, and the coefficients for a width of 0.25."""
    alpha = 0.25
    decay = np.exp(-alpha)
    gain = (1 - decay) ** 2 / (1 + 2 * alpha * decay - decay**2)
    ahead = [gain, gain * decay * (alpha - 1), gain * decay * (alpha + 1), -gain * decay**2]
    values = [*ahead, *ahead, 2 * decay, -(decay**2)]
    names = [*(f"a{k}" for k in range(1, 9)), "b1", "b2"]
    image = rng.random((sizes["H"], sizes["W"]), dtype=np.float32)
    return {**{n: np.float32(v) for n, v in zip(names, values, strict=True)}, "img": image}


def reference(*, img: np.ndarray, **coefficients: float) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W]``, and both passes of the columns."""
    b = np.float32(coefficients["b1"]), np.float32(coefficients["b2"])
    a = [np.float32(coefficients[f"a{k}"]) for k in range(1, 9)]
    rows = _ahead(a[0], a[1], b, img.T) + _back(a[2], a[3], b, img.T)
    forward = _ahead(a[4], a[5], b, rows.T)
    backward = _back(a[6], a[7], b, rows.T)
    return {"out": forward + backward, "forward": forward, "backward": backward}


def _ahead(
    now: np.float32, before: np.float32, b: tuple[np.float32, np.float32], x: np.ndarray
) -> np.ndarray:
    """Along the first axis: this value and that before, and the two results before."""
    y = np.zeros((len(x) + 2, x.shape[1]), np.float32)
    padded = np.concatenate([np.zeros_like(x[:1]), x])
    for i in range(len(x)):
        y[i + 2] = now * padded[i + 1] + before * padded[i] + b[0] * y[i + 1] + b[1] * y[i]
    return y[2:]


def _back(
    after: np.float32, later: np.float32, b: tuple[np.float32, np.float32], x: np.ndarray
) -> np.ndarray:
    """Against the first axis: the two values after this one, and the two results."""
    shifted = np.concatenate([np.zeros_like(x[:1]), x[:0:-1]])
    return _ahead(after, later, b, shifted)[::-1]
