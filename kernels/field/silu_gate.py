"""A gated linear unit with SiLU, x sigmoid(x) y. Class: math functions."""

# ruff: noqa: F821, UP037 - the extents in annotations are texts

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 1024, "C": 2048},
    "demo": {"N": 128, "C": 512},
    "test": {"N": 5, "C": 27},
    "tiny": {"N": 1, "C": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``gate`` and ``value`` f32 ``[N][C]``."""
    gate, value = rng.standard_normal((2, sizes["N"], sizes["C"]), dtype=np.float32)
    return {"gate": 3 * gate, "value": value}


def reference(*, gate: np.ndarray, value: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[N][C]``."""
    return {"out": gate / (np.float32(1) + np.exp(-gate)) * value}


def silu_gate(gate: po.f32["N", "C"], value: po.f32["N", "C"], out: po.f32["N", "C"]) -> None:
    """The loops: they run as they are, and ``pipeline`` reads them."""
    N, C = gate.shape
    for i in range(N):
        for j in range(C):
            sigmoid = 1.0 / (1.0 + np.exp(-gate[i, j]))
            out[i, j] = gate[i, j] * sigmoid * value[i, j]


def pipeline() -> po.Scop:
    """The program of the loop function."""
    return po.scop(silu_gate)


def torch(
    torch: ModuleType, *, gate: np.ndarray, value: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``silu``, and a product."""
    one, other, silu = torch.from_numpy(gate), torch.from_numpy(value), torch.nn.functional.silu
    return lambda: {"out": (silu(one) * other).numpy()}


def numba(
    numba: ModuleType, *, gate: np.ndarray, value: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads."""

    @numba.njit(parallel=True)
    def run(gate: np.ndarray, value: np.ndarray, out: np.ndarray) -> None:
        one = np.float32(1)
        for i in numba.prange(gate.shape[0]):
            for j in range(gate.shape[1]):
                out[i, j] = gate[i, j] / (one + np.exp(-gate[i, j])) * value[i, j]

    out = np.empty_like(gate)

    def call() -> dict[str, np.ndarray]:
        run(gate, value, out)
        return {"out": out}

    return call
