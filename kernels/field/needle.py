"""Global alignment of Needleman and Wunsch by antidiagonals. Class: C as people write it."""

from __future__ import annotations

import numpy as np

SIZES = {
    "bench": {"cols": 2001, "penalty": 10},
    "demo": {"cols": 501, "penalty": 10},
    "test": {"cols": 14, "penalty": 10},
    "tiny": {"cols": 2, "penalty": 10},
}


def inputs(rng: np.random.Generator, sizes: dict[str, int]) -> dict[str, np.ndarray]:
    """``reference`` and the table ``items`` i32 ``[cols][cols]``."""
    n = sizes["cols"]
    items = np.zeros((n, n), np.int32)
    items[0] = items[:, 0] = -sizes["penalty"] * np.arange(n)
    scores = rng.integers(-4, 12, (n, n), dtype=np.int32)
    return {"reference": scores, "items": items}


def reference(
    *, penalty: int, items: np.ndarray, **others: np.ndarray | int
) -> dict[str, np.ndarray]:
    """``items`` i32 ``[cols][cols]``, row by row: gaps along a row are a running maximum."""
    items, scores = items.copy(), others["reference"]
    steps = np.int32(penalty) * np.arange(len(items), dtype=np.int32)
    for i in range(1, len(items)):
        row = items[i].copy()
        row[1:] = np.maximum(items[i - 1, :-1] + scores[i, 1:], items[i - 1, 1:] - penalty)
        items[i] = np.maximum.accumulate(row + steps) - steps
    return {"items": items}
