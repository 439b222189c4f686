"""Prices of European options by Black and Scholes, calls and puts. Class: single loops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"n": 4_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 233},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``spot``, ``strike``, ``years`` f32 ``[n]``; ``rate`` and ``volatility`` f32."""
    n = sizes["n"]
    return {
        "spot": rng.uniform(5, 30, n).astype(np.float32),
        "strike": rng.uniform(1, 100, n).astype(np.float32),
        "years": rng.uniform(0.25, 10, n).astype(np.float32),
        "rate": np.float32(0.02),
        "volatility": np.float32(0.3),
    }


def reference(
    *,
    spot: np.ndarray,
    strike: np.ndarray,
    years: np.ndarray,
    rate: np.float32,
    volatility: np.float32,
    **_sizes: int,
) -> dict[str, np.ndarray]:
    """``call`` and ``put`` f32 ``[n]``, computed in double precision."""
    s, k, t = (a.astype(np.float64) for a in (spot, strike, years))
    spread = float(volatility) * np.sqrt(t)
    d1 = (np.log(s / k) + (float(rate) + 0.5 * float(volatility) ** 2) * t) / spread
    erf = np.vectorize(math.erf, otypes=[float])
    n1, n2 = (0.5 + 0.5 * erf(d / math.sqrt(2)) for d in (d1, d1 - spread))
    discounted = k * np.exp(-float(rate) * t)
    call = s * n1 - discounted * n2
    put = discounted * (1 - n2) - s * (1 - n1)
    return {"call": call.astype(np.float32), "put": put.astype(np.float32)}


def pipeline() -> po.Scop:
    """The program: two stages of intermediate values, and the two prices."""
    n = po.size("n")
    spot, strike, years = (po.input(name, po.f32, [n]) for name in ("spot", "strike", "years"))
    rate, volatility = po.scalar("rate", po.f32), po.scalar("volatility", po.f32)

    def moneyness(i: po.Term) -> po.Term:
        growth = (rate + 0.5 * volatility * volatility) * years[i]
        return (po.log(spot[i] / strike[i]) + growth) / (volatility * po.sqrt(years[i]))

    def normal(d: po.Term) -> po.Term:
        return 0.5 + 0.5 * po.erf(d * math.sqrt(0.5))

    d1 = po.stage("d1", [n], moneyness)
    d2 = po.stage("d2", [n], lambda i: d1[i] - volatility * po.sqrt(years[i]))
    discounted = po.stage("discounted", [n], lambda i: strike[i] * po.exp(-rate * years[i]))
    call = po.stage("call", [n], lambda i: spot[i] * normal(d1[i]) - discounted[i] * normal(d2[i]))
    put = po.stage("put", [n], lambda i: discounted[i] * normal(-d2[i]) - spot[i] * normal(-d1[i]))
    return po.pipeline(call, put, name="black_scholes")


def numba(
    numba: ModuleType,
    *,
    spot: np.ndarray,
    strike: np.ndarray,
    years: np.ndarray,
    rate: np.float32,
    volatility: np.float32,
    **_sizes: int,
) -> Callable[[], dict[str, np.ndarray]]:
    """One loop over the options, shared by threads."""
    half = np.float32(0.5)
    root = np.float32(math.sqrt(0.5))

    @numba.njit(parallel=True)
    def run(s: np.ndarray, k: np.ndarray, t: np.ndarray, call: np.ndarray, put: np.ndarray) -> None:
        for i in numba.prange(len(s)):
            spread = volatility * math.sqrt(t[i])
            d1 = (math.log(s[i] / k[i]) + (rate + half * volatility * volatility) * t[i]) / spread
            n1 = half + half * math.erf(d1 * root)
            n2 = half + half * math.erf((d1 - spread) * root)
            discounted = k[i] * math.exp(-rate * t[i])
            call[i] = s[i] * n1 - discounted * n2
            put[i] = discounted * (1 - n2) - s[i] * (1 - n1)

    call, put = np.empty_like(spot), np.empty_like(spot)

    def prices() -> dict[str, np.ndarray]:
        run(spot, strike, years, call, put)
        return {"call": call, "put": put}

    return prices
