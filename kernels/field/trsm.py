"""A lower triangular system with many right-hand sides. Class: recurrences.

Behind others: BLAS solves in blocks; columns are solved one after the other here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SIZES = {
    "bench": {"N": 700, "M": 600},
    "demo": {"N": 200, "M": 100},
    "test": {"N": 13, "M": 9},
    "tiny": {"N": 1, "M": 1},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``L`` f64 ``[N][N]``, well conditioned, also above the diagonal; ``B`` f64 ``[N][M]``."""
    n = sizes["N"]
    return {
        "L": rng.standard_normal((n, n)) / n + np.eye(n),
        "B": rng.standard_normal((n, sizes["M"])),
    }


def reference(*, L: np.ndarray, B: np.ndarray, **_sizes: int) -> dict[str, np.ndarray]:
    """``B`` f64 ``[N][M]``: the solutions."""
    return {"B": np.linalg.solve(np.tril(L), B)}


def scipy(
    scipy: ModuleType, *, L: np.ndarray, B: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``linalg.solve_triangular``."""
    solve = scipy.linalg.solve_triangular
    return lambda: {"B": solve(L, B, lower=True, check_finite=False)}


def torch(
    torch: ModuleType, *, L: np.ndarray, B: np.ndarray, **_sizes: int
) -> Callable[[], dict[str, np.ndarray]]:
    """``linalg.solve_triangular``."""
    matrix, right = torch.from_numpy(L), torch.from_numpy(B)
    solve = torch.linalg.solve_triangular
    return lambda: {"B": solve(matrix, right, upper=False).numpy()}
