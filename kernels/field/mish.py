"""The activation mish, x tanh(log(1 + exp(x))). Class: math functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"n": 2_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 203},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``x`` f32 ``[n]``, as large as 40."""
    return {"x": rng.uniform(-40, 40, sizes["n"]).astype(np.float32)}


def reference(*, x: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[n]``."""
    return {"out": x * np.tanh(np.logaddexp(x, np.float32(0)))}


def torch(
    torch: ModuleType, *, x: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``mish``."""
    given = torch.from_numpy(x)
    return lambda: {"out": torch.nn.functional.mish(given).numpy()}


def numba(
    numba: ModuleType, *, x: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loop, shared by threads."""

    @numba.njit(parallel=True)
    def run(x: np.ndarray, out: np.ndarray) -> None:
        one = np.float32(1)
        for i in numba.prange(len(x)):
            softplus = x[i]
            if softplus <= np.float32(20):
                softplus = np.log(one + np.exp(softplus))
            out[i] = x[i] * np.tanh(softplus)

    out = np.empty_like(x)

    def call() -> dict[str, np.ndarray]:
        run(x, out)
        return {"out": out}

    return call
