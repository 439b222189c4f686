"""A signal of 16 bits scaled, offset and saturated to 8 bits. Class: single loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"n": 8_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 1037},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``signal`` i16 ``[n]``; ``gain`` and ``offset`` f32, after which a tenth is saturated."""
    signal = rng.integers(-(1 << 15), 1 << 15, sizes["n"], dtype=np.int16)
    return {"signal": signal, "gain": np.float32(1 / 230), "offset": np.float32(127.5)}


def reference(
    *, signal: np.ndarray, gain: np.float32, offset: np.float32, **_sizes: int
) -> dict[str, np.ndarray]:
    """``out`` u8 ``[n]``."""
    scaled = signal.astype(np.float32) * gain + offset
    return {"out": np.clip(scaled, np.float32(0), np.float32(255)).astype(np.uint8)}


def pipeline() -> po.Scop:
    """The program: one stage."""
    n = po.size("n")
    signal = po.input("signal", po.i16, [n])
    gain, offset = po.scalar("gain", po.f32), po.scalar("offset", po.f32)
    out = po.stage(
        "out",
        [n],
        lambda i: po.cast(po.u8, po.clamp(po.cast(po.f32, signal[i]) * gain + offset, 0.0, 255.0)),
    )
    return po.pipeline(out, name="clamp_scale")


def numba(
    numba: ModuleType, *, signal: np.ndarray, gain: np.float32, offset: np.float32, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loop, shared by threads."""

    @numba.njit(parallel=True)
    def run(signal: np.ndarray, out: np.ndarray) -> None:
        low, high = np.float32(0), np.float32(255)
        for i in numba.prange(len(signal)):
            value = np.float32(signal[i]) * gain + offset
            out[i] = np.uint8(min(max(value, low), high))

    out = np.empty(signal.shape, np.uint8)

    def call() -> dict[str, np.ndarray]:
        run(signal, out)
        return {"out": out}

    return call
