"""Layer normalisation of the rows of a matrix. Class: fused reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 4096, "C": 768},
    "demo": {"N": 512, "C": 768},
    "test": {"N": 5, "C": 37},
    "tiny": {"N": 1, "C": 2},
}
EPSILON = 1e-5


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``x`` f32 ``[N][C]``; ``gain`` and ``bias`` f32 ``[C]``."""
    gain, bias = rng.standard_normal((2, sizes["C"]), dtype=np.float32)
    x = rng.standard_normal((sizes["N"], sizes["C"]), dtype=np.float32) + np.float32(0.5)
    return {"x": x, "gain": gain, "bias": bias}


def reference(
    *, x: np.ndarray, gain: np.ndarray, bias: np.ndarray, **_sizes: int
) -> dict[str, np.ndarray]:
    """``out`` f32 ``[N][C]``."""
    rows = x.astype(np.float64)
    centred = rows - rows.mean(axis=1, keepdims=True)
    scale = np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
    return {"out": (centred / scale * gain + bias).astype(np.float32)}


def pipeline() -> po.Scop:
    """The program: mean and variance of each row, and the normalised row."""
    n, c = po.size("N"), po.size("C")
    x = po.input("x", po.f32, [n, c])
    gain, bias = po.input("gain", po.f32, [c]), po.input("bias", po.f32, [c])
    count = po.cast(po.f32, c)
    mean = po.stage("mean", [n], lambda i: po.sum(lambda k: x[i, k], k=c) / count)

    def squared(i: po.Term) -> po.Term:
        return po.sum(lambda k: (x[i, k] - mean[i]) * (x[i, k] - mean[i]), k=c) / count

    variance = po.stage("variance", [n], squared)
    out = po.stage(
        "out",
        [n, c],
        lambda i, j: (x[i, j] - mean[i]) / po.sqrt(variance[i] + EPSILON) * gain[j] + bias[j],
    )
    return po.pipeline(out, name="layer_norm")


def torch(
    torch: ModuleType, *, x: np.ndarray, gain: np.ndarray, bias: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``layer_norm``."""
    rows, weight, shift = (torch.from_numpy(a) for a in (x, gain, bias))
    norm, shape = torch.nn.functional.layer_norm, (x.shape[1],)
    return lambda: {"out": norm(rows, shape, weight, shift, EPSILON).numpy()}


def numba(
    numba: ModuleType, *, x: np.ndarray, gain: np.ndarray, bias: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """The loops, rows shared by threads."""
    epsilon = EPSILON

    @numba.njit(parallel=True)
    def run(out: np.ndarray) -> None:
        count = x.shape[1]
        for i in numba.prange(x.shape[0]):
            mean = np.float32(0)
            for k in range(count):
                mean += x[i, k]
            mean /= count
            variance = np.float32(0)
            for k in range(count):
                variance += (x[i, k] - mean) * (x[i, k] - mean)
            scale = np.float32(1 / np.sqrt(variance / count + epsilon))
            for k in range(count):
                out[i, k] = (x[i, k] - mean) * scale * gain[k] + bias[k]

    out = np.empty_like(x)

    def call() -> dict[str, np.ndarray]:
        run(out)
        return {"out": out}

    return call
