"""Products of interleaved complex numbers, element by element. Class: single loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"n": 2_000_000},
    "demo": {"n": 100_000},
    "test": {"n": 337},
    "tiny": {"n": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``a`` and ``b`` f32 ``[n][2]``: real and imaginary part."""
    a, b = rng.standard_normal((2, sizes["n"], 2), dtype=np.float32)
    return {"a": a, "b": b}


def reference(*, a: np.ndarray, b: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``out`` f32 ``[n][2]``."""
    product = a.view(np.complex64) * b.view(np.complex64)
    return {"out": product.view(np.float32)}


def numba(
    numba: ModuleType, *, a: np.ndarray, b: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loop over complex numbers, shared by threads."""

    @numba.njit(parallel=True)
    def run(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        for i in numba.prange(len(a)):
            out[i] = a[i] * b[i]

    one, other = a.view(np.complex64)[:, 0], b.view(np.complex64)[:, 0]
    out = np.empty_like(one)

    def call() -> dict[str, np.ndarray]:
        run(one, other, out)
        return {"out": out.view(np.float32).reshape(-1, 2)}

    return call


def torch(
    torch: ModuleType, *, a: np.ndarray, b: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The product of complex tensors."""
    one, other = (torch.view_as_complex(torch.from_numpy(array)) for array in (a, b))
    return lambda: {"out": torch.view_as_real(one * other).numpy()}
