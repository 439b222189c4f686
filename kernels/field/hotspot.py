"""A step of the temperatures of a chip, borders told by conditions. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"row": 1500, "col": 1800},
    "demo": {"row": 300, "col": 400},
    "test": {"row": 7, "col": 13},
    "tiny": {"row": 2, "col": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """Constants f32; ``power`` and ``temp`` f32 ``[row][col]``."""
    numbers = {"cap_1": 0.5, "rx_1": 0.1, "ry_1": 0.2, "rz_1": 0.05, "amb": 80}
    shape = sizes["row"], sizes["col"]
    return {
        **{name: np.float32(value) for name, value in numbers.items()},
        "power": rng.random(shape, dtype=np.float32),
        "temp": rng.uniform(320, 340, shape).astype(np.float32),
    }


def reference(
    *,
    cap_1: np.float32,
    rx_1: np.float32,
    ry_1: np.float32,
    rz_1: np.float32,
    amb: np.float32,
    power: np.ndarray,
    temp: np.ndarray,
    **_sizes: int,
) -> dict[str, np.ndarray]:
    """``result`` f32 ``[row][col]``: nothing flows over the border, which repeats."""
    wide = np.pad(temp.astype(np.float64), 1, mode="edge")
    here = wide[1:-1, 1:-1]
    down = wide[2:, 1:-1] + wide[:-2, 1:-1] - 2 * here
    across = wide[1:-1, 2:] + wide[1:-1, :-2] - 2 * here
    delta = cap_1 * (power + across * rx_1 + down * ry_1 + (amb - here) * rz_1)
    return {"result": (here + delta).astype(np.float32)}
