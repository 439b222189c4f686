"""Whether two results are the same: integers exactly, floats up to rounding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    Array = np.ndarray[Any, Any]

#: largest difference, relative to the largest value, that the order of operations explains
_TOLERANCE = {2: 2.0**-9, 4: 1e-4, 8: 1e-10}


def outliers(found: Array, expected: Array, step: int = 0) -> int:
    """How many elements differ by more than rounding does; all, where shapes differ.

    Integers may differ by ``step``.
    """
    if found.shape != expected.shape:
        return max(1, found.size)
    if expected.dtype.kind != "f":
        if not step:
            return int(np.count_nonzero(found != expected))
        distance = np.abs(found.astype(np.int64) - expected.astype(np.int64))
        return int(np.count_nonzero(distance > step))
    finite = np.isfinite(expected)
    scale = float(np.abs(expected, where=finite, out=np.zeros_like(expected)).max(initial=0.0))
    close = np.isclose(
        found, expected, rtol=0.0, atol=_TOLERANCE[expected.itemsize] * scale, equal_nan=True
    )
    return int(np.count_nonzero(~close))


def share_of_outliers(
    found: Mapping[str, Array], expected: Mapping[str, Array], step: int = 0
) -> float:
    """The largest share, over the expected arrays, of elements that differ."""
    shares = [
        outliers(found[name], np.asarray(values), step) / max(1, np.asarray(values).size)
        if name in found
        else 1.0
        for name, values in expected.items()
    ]
    return max(shares, default=1.0)
