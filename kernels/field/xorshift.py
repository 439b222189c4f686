"""Random numbers of many generators at once. Class: private scalars."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"n": 1_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 301},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``state`` u32 ``[n]``, none of them zero."""
    return {"state": rng.integers(1, 1 << 32, sizes["n"], dtype=np.uint32)}


def reference(*, state: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``state`` u32 ``[n]``, ``out`` f32 ``[n][3]`` in [0, 1)."""
    x, steps = state.astype(np.uint64), []
    for _ in range(3):
        x ^= x << np.uint64(13) & np.uint64(0xFFFFFFFF)
        x ^= x >> np.uint64(17)
        x ^= x << np.uint64(5) & np.uint64(0xFFFFFFFF)
        steps.append(((x >> np.uint64(8)) / 2**24).astype(np.float32))
    return {"state": x.astype(np.uint32), "out": np.stack(steps, axis=1)}
