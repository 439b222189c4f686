"""Toom-Cook's transformation matrices of short correlations, and what they do to rounding.

A product of two polynomials is known by its values at as many points as it has coefficients; read
backwards (by the transposition principle) that computes ``m`` results of a correlation with ``r``
weights, ``y[i] = sum_k g[k] d[i + k]``, by ``n = m + r - 1`` products::

    y = A' [(G g) * (B' d)]

``A`` and ``G`` evaluate polynomials at the points, ``B`` interpolates: its columns are the
coefficients of ``prod_{j != i} (x - a_j)``, whose value at ``a_i`` divides the row of ``G``. The
last point is infinity, where a polynomial's value is its leading coefficient. All in fractions.
(A. L. Toom, 1963; S. A. Cook, 1966; S. Winograd, "Arithmetic Complexity of Computations", 1980; in
matrices: B. Barabasz, A. Anderson, K. M. Soodhalter and D. Gregg, "Error Analysis and Improving the
Accuracy of Winograd Convolution for Deep Neural Networks", ACM TOMS 46(4), 2020.)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    Matrix = tuple[tuple[Fraction, ...], ...]

#: rows and columns of the weights
KERNEL = 3
#: results of a tile along a dimension, by the points of A. Lavin and S. Gray (2016)
TILES = (4, 2)


@dataclass(frozen=True)
class Transforms:
    """``y = result [(weights g) * (data d)]``, for ``m`` results and ``r`` weights.

    With ``n = m + r - 1``, ``result`` is ``A' [m][n]``, ``weights`` ``G [n][r]`` and ``data``
    ``B' [n][n]``.
    """

    result: Matrix
    weights: Matrix
    data: Matrix

    @property
    def tile(self) -> int:
        """Results of a tile."""
        return len(self.result)

    @property
    def growth(self) -> float:
        """How much larger than ``max |d| sum |g|`` the terms may be that a result is added up of:
        ``max_{i,k} sum_j |A'[i][j]| |G[j][k]| sum_l |B'[j][l]|`` along one dimension."""
        widths = [sum(map(abs, row)) for row in self.data]
        return float(
            max(
                sum(abs(a) * abs(row[k]) * w for a, row, w in zip(line, self.weights, widths,
                                                                 strict=True))
                for line in self.result
                for k in range(len(self.weights[0]))
            )
        )  # fmt: skip

    @property
    def roundings(self) -> int:
        """Most roundings of a value on its way through the transformations of a tile, both
        dimensions, and the weights' one: each term of a sum is multiplied and added."""
        terms = [max(sum(map(bool, row)) for row in m) for m in (self.data, self.result)]
        return 1 + 2 * sum(terms)


@cache
def transforms(tile: int, kernel: int = KERNEL) -> Transforms:
    """The matrices for the points 0, 1, -1, 2, -2, ... and infinity."""
    points = [Fraction(0)]
    while len(points) < tile + kernel - 2:
        points.append(-points[-1] if points[-1] > 0 else 1 - points[-1])
    return from_points(points, tile, kernel)


def from_points(points: Sequence[Fraction], tile: int, kernel: int = KERNEL) -> Transforms:
    """The matrices for ``tile + kernel - 2`` different points, and infinity as the last.

    Raises ``ValueError`` for other numbers of points.
    """
    count = tile + kernel - 2
    if len(set(points)) != count or len(points) != count:
        msg = f"{count} different points are needed"
        raise ValueError(msg)
    others = [[b for b in points if b != a] for a in points]
    scales = [_value(_with_roots(rest), a) for rest, a in zip(others, points, strict=True)]
    data = [_scaled(_with_roots(rest), scale) for rest, scale in zip(others, scales, strict=True)]
    weights = [
        tuple(a**k / abs(scale) for k in range(kernel))
        for a, scale in zip(points, scales, strict=True)
    ]
    leading = [Fraction(0)] * (kernel - 1) + [Fraction(1)]
    result = [(*(a**i for a in points), Fraction(int(i == tile - 1))) for i in range(tile)]
    return Transforms(
        tuple(result), (*weights, tuple(leading)), (*data, tuple(_with_roots(points)))
    )


def _scaled(numbers: Sequence[Fraction], scale: Fraction) -> tuple[Fraction, ...]:
    """Coefficients with the sign of the scale that ``G`` has without it, filled up by a zero."""
    sign = 1 if scale > 0 else -1
    return (*(sign * c for c in numbers), Fraction(0))


def _with_roots(roots: Sequence[Fraction]) -> list[Fraction]:
    """Coefficients of ``prod (x - root)``, the constant one first."""
    found = [Fraction(1)]
    for root in roots:
        padded = [Fraction(0), *found, Fraction(0)]
        found = [lower - root * own for lower, own in pairwise(padded)]
    return found


def _value(numbers: Sequence[Fraction], x: Fraction) -> Fraction:
    return sum((c * x**k for k, c in enumerate(numbers)), Fraction(0))
