"""Speckle-reducing anisotropic diffusion, indices in arrays. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"rows": 1000, "cols": 1024},
    "demo": {"rows": 300, "cols": 400},
    "test": {"rows": 7, "cols": 13},
    "tiny": {"rows": 2, "cols": 2},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray | np.generic]:
    """``J`` f32 ``[rows][cols]``, what else is computed of it, and the indices of neighbours."""
    rows, cols = sizes["rows"], sizes["cols"]
    found = {
        "q0sqr": np.float32(0.05),
        "lambda": np.float32(0.5),
        "J": np.exp(rng.random((rows, cols), dtype=np.float32)),
    }
    for name in ("c", "dN", "dS", "dW", "dE"):
        found[name] = np.zeros((rows, cols), np.float32)
    for names, count in ((("iN", "iS"), rows), (("jW", "jE"), cols)):
        steps = np.arange(count, dtype=np.int32)
        found[names[0]] = np.maximum(steps - 1, 0).astype(np.int32)
        found[names[1]] = np.minimum(steps + 1, count - 1).astype(np.int32)
    return found


def reference(*, q0sqr: np.float32, J: np.ndarray, **others: np.ndarray) -> dict[str, np.ndarray]:
    """``J``, the coefficient ``c``, and the four differences, f32 ``[rows][cols]``."""
    wide = np.pad(J, 1, mode="edge")
    d = {
        "dN": wide[:-2, 1:-1] - J,
        "dS": wide[2:, 1:-1] - J,
        "dW": wide[1:-1, :-2] - J,
        "dE": wide[1:-1, 2:] - J,
    }
    squares = sum(a * a for a in d.values()) / (J * J)
    laplacian = sum(d.values()) / J
    num = np.float32(0.5) * squares - laplacian * laplacian / np.float32(16)
    q = num / (np.float32(1) + np.float32(0.25) * laplacian) ** 2
    c = np.clip(1 / (1 + (q - q0sqr) / (q0sqr * (1 + q0sqr))), 0, 1).astype(np.float32)
    after = np.pad(c, ((0, 1), (0, 1)), mode="edge")
    flow = c * d["dN"] + after[1:, :-1] * d["dS"] + c * d["dW"] + after[:-1, 1:] * d["dE"]
    return {"J": J + np.float32(0.25) * others["lambda"] * flow, "c": c, **d}
