"""The Gaussian kernel matrix of two sets of points, exp(-g |a - b|^2). Class: math functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import polyopt as po

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 1024, "D": 8, "M": 1024},
    "demo": {"N": 300, "D": 8, "M": 200},
    "test": {"N": 11, "D": 3, "M": 17},
    "tiny": {"N": 1, "D": 1, "M": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``a`` f32 ``[N][D]``, ``b`` f32 ``[M][D]``, ``gamma`` f32."""
    return {
        "a": rng.random((sizes["N"], sizes["D"]), dtype=np.float32),
        "b": rng.random((sizes["M"], sizes["D"]), dtype=np.float32),
        "gamma": np.float32(0.5),
    }


def reference(
    *, a: np.ndarray, b: np.ndarray, gamma: np.float32, **_sizes: int
) -> dict[str, np.ndarray]:
    """``k`` f32 ``[N][M]``."""
    distance = np.zeros((len(a), len(b)))
    for d in range(a.shape[1]):
        distance += np.subtract.outer(a[:, d].astype(float), b[:, d].astype(float)) ** 2
    return {"k": np.exp(-float(gamma) * distance).astype(np.float32)}


def pipeline() -> po.Scop:
    """The program: squared distances, and their exponentials."""
    n, m, d = (po.size(name) for name in "NMD")
    a, b = po.input("a", po.f32, [n, d]), po.input("b", po.f32, [m, d])
    gamma = po.scalar("gamma", po.f32)

    def squared(i: po.Term, j: po.Term) -> po.Term:
        return po.sum(lambda k: (a[i, k] - b[j, k]) * (a[i, k] - b[j, k]), k=d)

    distance = po.stage("distance", [n, m], squared)
    kernel = po.stage("k", [n, m], lambda i, j: po.exp(-gamma * distance[i, j]))
    return po.pipeline(kernel, name="rbf_matrix")


def scipy(
    scipy: ModuleType, *, a: np.ndarray, b: np.ndarray, gamma: np.float32, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``spatial.distance.cdist``, in double precision, and NumPy."""
    cdist = scipy.spatial.distance.cdist
    return lambda: {"k": np.exp(-float(gamma) * cdist(a, b, "sqeuclidean")).astype(np.float32)}


def torch(
    torch: ModuleType, *, a: np.ndarray, b: np.ndarray, gamma: np.float32, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``cdist``, squared, and ``exp``."""
    one, other = torch.from_numpy(a), torch.from_numpy(b)

    def call() -> dict[str, np.ndarray]:
        distance = torch.cdist(one, other, compute_mode="donot_use_mm_for_euclid_dist")
        return {"k": distance.square_().mul_(-float(gamma)).exp_().numpy()}

    return call
