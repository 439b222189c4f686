"""An Asian option by Monte Carlo with a table of random numbers. Class: private scalars."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"P": 100_000, "T": 32},
    "demo": {"P": 10_000, "T": 32},
    "test": {"P": 103, "T": 7},
    "tiny": {"P": 1, "T": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``spot``, ``strike``; ``drift`` and ``volatility`` of a step, f32; ``z`` f32 ``[T][P]``."""
    numbers = {"spot": 100, "strike": 98, "drift": 0.001, "volatility": 0.04}
    return {
        **{name: np.float32(value) for name, value in numbers.items()},
        "z": rng.standard_normal((sizes["T"], sizes["P"]), dtype=np.float32),
    }


def reference(
    *,
    spot: np.float32,
    strike: np.float32,
    drift: np.float32,
    volatility: np.float32,
    z: np.ndarray,
    **_sizes: int,
) -> dict[str, np.ndarray]:
    """``payoff`` f32 ``[P]`` and ``price`` f32 ``[1]``."""
    steps = np.exp(float(drift) + float(volatility) * z.astype(np.float64))
    mean = (float(spot) * np.cumprod(steps, axis=0)).mean(axis=0)
    payoff = np.maximum(mean - float(strike), 0)
    price = payoff.mean(keepdims=True)
    return {"payoff": payoff.astype(np.float32), "price": price.astype(np.float32)}


def numba(
    numba: ModuleType,
    *,
    spot: np.float32,
    strike: np.float32,
    drift: np.float32,
    volatility: np.float32,
    z: np.ndarray,
    **_sizes: int,
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, paths shared by threads."""

    @numba.njit(parallel=True)
    def run(payoff: np.ndarray) -> float:
        price = 0.0
        for p in numba.prange(z.shape[1]):
            s, total = spot, np.float32(0)
            for t in range(z.shape[0]):
                s *= np.exp(drift + volatility * z[t, p])
                total += s
            payoff[p] = max(total / np.float32(z.shape[0]) - strike, np.float32(0))
            price += payoff[p]
        return price / z.shape[1]

    payoff = np.empty(z.shape[1], np.float32)

    def call() -> dict[str, np.ndarray]:
        price = run(payoff)
        return {"payoff": payoff, "price": np.array([price], np.float32)}

    return call
