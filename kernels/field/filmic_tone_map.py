"""Filmic tone mapping of an interleaved image by Hable's curve. Class: math functions."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"H": 1024, "W": 1024},
    "demo": {"H": 720, "W": 1280},
    "test": {"H": 5, "W": 17},
    "tiny": {"H": 1, "W": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``exposure``, ``white`` f32; ``img`` f32 ``[H][W][3]``, of a large dynamic range."""
    light = np.exp(rng.normal(0, 1.5, (sizes["H"], sizes["W"], 3)))
    return {
        "exposure": np.float32(1.6),
        "white": np.float32(11.2),
        "img": light.astype(np.float32),
    }


def reference(
    *, exposure: np.float32, white: np.float32, img: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[H][W][3]``."""
    curve = np.poly1d([0.15, 0.05, 0.004]), np.poly1d([0.15, 0.5, 0.06])
    mapped, most = (
        curve[0](x) / curve[1](x) - 0.02 / 0.3
        for x in (float(exposure) * img.astype(np.float64), float(white))
    )
    return {"out": (np.clip(mapped / most, 0, 1) ** (1 / 2.2)).astype(np.float32)}
