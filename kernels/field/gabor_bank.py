"""Gabor filters of several directions and wavelengths, sampled. Class: math functions."""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"R": 22, "F": 512},
    "demo": {"R": 15, "F": 64},
    "test": {"R": 4, "F": 5},
    "tiny": {"R": 1, "F": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``theta`` and ``wavelength`` f32 ``[F]``, ``sigma`` f32; ``R`` is the radius of filters."""
    count = sizes["F"]
    return {
        "theta": rng.uniform(0, np.pi, count).astype(np.float32),
        "wavelength": rng.uniform(3, 12, count).astype(np.float32),
        "sigma": np.float32(sizes["R"] / 2.5),
    }


def reference(
    *, theta: np.ndarray, wavelength: np.ndarray, sigma: np.float32, R: int, **_sizes: int
) -> dict[str, np.ndarray]:
    """``bank`` f32 ``[F][2 R + 1][2 R + 1]``."""
    y, x = np.mgrid[-R : R + 1, -R : R + 1].astype(np.float64)
    angle = theta.astype(float)[:, None, None]
    along = x * np.cos(angle) + y * np.sin(angle)
    across = y * np.cos(angle) - x * np.sin(angle)
    envelope = np.exp(-(along**2 + 0.25 * across**2) / (2 * float(sigma) ** 2))
    wave = np.cos(2 * np.pi * along / wavelength.astype(float)[:, None, None])
    return {"bank": (envelope * wave).astype(np.float32)}


def gabor_bank(
    R: int,
    theta: po.f32["F"],
    wavelength: po.f32["F"],
    sigma: po.f32,
    bank: po.f32["F", "2 * R + 1", "2 * R + 1"],
) -> None:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    for f in range(theta.shape[0]):
        c = np.cos(theta[f])
        s = np.sin(theta[f])
        for y in range(2 * R + 1):
            for x in range(2 * R + 1):
                along = np.float32(x - R) * c + np.float32(y - R) * s
                across = np.float32(y - R) * c - np.float32(x - R) * s
                envelope = np.exp(-(along * along + 0.25 * across * across) / (2 * sigma * sigma))
                bank[f, y, x] = envelope * np.cos(2 * np.pi * along / wavelength[f])


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(gabor_bank)


def numba(
    numba: ModuleType,
    *,
    theta: np.ndarray,
    wavelength: np.ndarray,
    sigma: np.float32,
    R: int,
    **_sizes: int,
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, filters shared by threads."""

    @numba.njit(parallel=True)
    def run(bank: np.ndarray) -> None:
        for f in numba.prange(len(theta)):
            c, s = np.cos(theta[f]), np.sin(theta[f])
            for y in range(2 * R + 1):
                for x in range(2 * R + 1):
                    along = np.float32(x - R) * c + np.float32(y - R) * s
                    across = np.float32(y - R) * c - np.float32(x - R) * s
                    squares = along * along + np.float32(0.25) * across * across
                    wave = np.cos(np.float32(2 * np.pi) * along / wavelength[f])
                    bank[f, y, x] = np.exp(-squares / (2 * sigma * sigma)) * wave

    bank = np.empty((len(theta), 2 * R + 1, 2 * R + 1), np.float32)

    def call() -> dict[str, np.ndarray]:
        run(bank)
        return {"bank": bank}

    return call
