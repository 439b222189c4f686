"""How far rounding takes Winograd's convolutions from exact ones: bounds, and what is measured.

Every result is a sum of products of weights, data and entries of the transformations. Each factor
``1 + d``, ``|d| <= u``, that a rounding multiplies such a term by is counted; a term with ``k`` of
them is off by at most ``gamma(k) = k u / (1 - k u)`` of its magnitude (N. J. Higham, "Accuracy and
Stability of Numerical Algorithms", 2nd ed., 2002, Lemma 3.1), whatever the order of the sums, and
with or without fused multiply-adds. Hence, element by element::

    |Y' - Y| <= gamma(k) |A'| (sum_c (|G| |g| |G'|) * (|B'| |d| |B|)) |A|

What is so summed up is at most ``growth^2`` times what a convolution sums up of magnitudes. Bounds
by norms instead of elements: B. Barabasz, A. Anderson, K. M. Soodhalter and D. Gregg, "Error
Analysis and Improving the Accuracy of Winograd Convolution for Deep Neural Networks", ACM TOMS
46(4), 2020.
Underflow is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.graph.winograd.transforms import KERNEL, transforms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.winograd.transforms import Matrix

    Array = np.ndarray[Any, np.dtype[Any]]

#: the largest relative error of rounding to a float of 32 bits
UNIT = 2.0**-24
#: of transformed weights: worked out in doubles, whose own roundings are less than one of floats
_WEIGHTS = 1


def gamma(roundings: int) -> float:
    """The most that so many roundings change a product by, relative to it."""
    return roundings * UNIT / (1 - roundings * UNIT)


def roundings(tile: int, channels: int) -> int:
    """Most roundings of a term on its way into a result: transformed weights and data, the product,
    the sum over channels, the transformation back, and a bias."""
    return transforms(tile).roundings + _WEIGHTS + channels + 2


def relative_bound(tile: int, channels: int) -> float:
    """An element of the result is off by at most this times ``max |x| sum |w|``, the sum over all
    weights of its channel (and a rounding of its bias)."""
    return gamma(roundings(tile, channels)) * transforms(tile).growth ** 2


def direct_bound(channels: int) -> float:
    """The same of a convolution as it is defined."""
    return gamma(KERNEL * KERNEL * channels + 1)


def error_bound(
    x: Array, w: Array, tile: int, pads: Sequence[int], bias: Array | None = None
) -> Array:
    """How far each element of the result may be from the exact one.

    ``x [n][c][y][x]`` and ``w [co][c][3][3]`` as ONNX has them, ``pads`` begins, then ends.
    """
    forms = transforms(tile)
    a, g, b = (np.abs(_numbers(m)) for m in (forms.result, forms.weights, forms.data))
    outputs = [x.shape[2 + d] + pads[d] + pads[2 + d] - KERNEL + 1 for d in range(2)]
    down, right = (-(-size // tile) for size in outputs)
    whole = [n * tile + KERNEL - 1 for n in (down, right)]
    ends = [whole[d] - x.shape[2 + d] - pads[d] for d in range(2)]
    frame = [(0, 0), (0, 0), *((pads[d], max(0, ends[d])) for d in range(2))]
    data = np.pad(np.abs(x.astype(np.float64)), frame)
    weights = np.einsum("ik,ockl,jl->ijoc", g, np.abs(w.astype(np.float64)), g)
    found = np.zeros((len(x), len(w), down * tile, right * tile))
    for row in range(down):
        for column in range(right):
            top, left = row * tile, column * tile
            part = data[:, :, top : top + len(b), left : left + len(b)]
            tiles = np.einsum("ik,nckl,jl->ijnc", b, part, b)
            sums = np.einsum("ijnc,ijoc->ijno", tiles, weights)
            found[:, :, top : top + tile, left : left + tile] = np.einsum(
                "yi,ijno,xj->noyx", a, sums, a
            )
    found = found[:, :, : outputs[0], : outputs[1]]
    if bias is not None:
        found = found + np.abs(bias.astype(np.float64))[:, None, None]
    return gamma(roundings(tile, x.shape[1])) * found


@dataclass(frozen=True)
class Errors:
    """How far results are from exact ones: the largest and the mean square's root, over the largest
    magnitude of the exact results."""

    most: float
    rms: float


def errors(found: Array, exact: Array) -> Errors:
    """The errors of results, beside what doubles give."""
    gap = found.astype(np.float64) - exact.astype(np.float64)
    scale = float(np.abs(exact).max()) or 1.0
    return Errors(float(np.abs(gap).max()) / scale, float(np.sqrt((gap**2).mean())) / scale)


def exact_convolution(x: Array, w: Array, pads: Sequence[int]) -> Array:
    """A convolution of stride 1 in doubles: ``x [n][c][y][x]``, ``w [co][c][y][x]``."""
    frame = [(0, 0), (0, 0), *((pads[d], pads[2 + d]) for d in range(2))]
    data, weights = np.pad(x.astype(np.float64), frame), w.astype(np.float64)
    rows, columns = (data.shape[2 + d] - w.shape[2 + d] + 1 for d in range(2))
    total = np.zeros((len(x), len(w), rows, columns))
    for k in range(w.shape[2]):
        for i in range(w.shape[3]):
            part = data[:, :, k : k + rows, i : i + columns]
            total += np.einsum("oc,ncyx->noyx", weights[:, :, k, i], part, optimize=True)
    return total


def transformed(w: Array, tile: int) -> Array:
    """Packed weights ``[..][3][3][b][v]`` as ``[i][j]..[b][v]``, rounded once."""
    g = _numbers(transforms(tile).weights)
    whole = np.einsum("ik,jl,abklcd->ijabcd", g, g, w.astype(np.float64), optimize=True)
    return np.ascontiguousarray(whole.astype(w.dtype))


def _numbers(matrix: Matrix) -> Array:
    return np.array([[float(v) for v in row] for row in matrix])
