"""A step of temperatures in layers, indices computed first. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"nx": 400, "ny": 400, "nz": 12},
    "demo": {"nx": 128, "ny": 128, "nz": 8},
    "test": {"nx": 9, "ny": 6, "nz": 4},
    "tiny": {"nx": 1, "ny": 1, "nz": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """Coefficients f32; ``p`` and ``t`` f32 ``[nz][ny][nx]``."""
    numbers = {"cc": 0.4, "cw": 0.1, "cn": 0.12, "ct": 0.08, "step": 0.7, "amb": 80}
    shape = sizes["nz"], sizes["ny"], sizes["nx"]
    p, t = rng.random((2, *shape), dtype=np.float32)
    return {
        **{name: np.float32(value) for name, value in numbers.items()},
        "p": p,
        "t": np.float32(300) + t,
    }


def reference(
    *,
    cc: np.float32,
    cw: np.float32,
    cn: np.float32,
    ct: np.float32,
    step: np.float32,
    amb: np.float32,
    p: np.ndarray,
    t: np.ndarray,
    **_sizes: int,
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[nz][ny][nx]``; beyond the border a cell is its own neighbour."""
    wide = np.pad(t.astype(np.float64), 1, mode="edge")
    inner = slice(1, -1)
    total = cc * t + step * p + ct * amb
    for axis, factor in enumerate((ct, cn, cw)):
        for shift in (slice(2, None), slice(None, -2)):
            total = total + factor * wide[tuple(shift if k == axis else inner for k in range(3))]
    return {"out": total.astype(np.float32)}
