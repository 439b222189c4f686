"""Converters of Fourier transforms: products with constant matrices of sines and cosines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.onnx.context import converts

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Array
    from polyopt.graph.onnx.context import OnnxNode

#: elements of a matrix of sines and cosines
_MOST_ELEMENTS = 1 << 24


@converts("DFT")
def _dft(node: OnnxNode) -> None:
    shape, rank = node.value(0).shape, node.rank
    axis = node.number(2) if node.opset >= 20 else float(node.get("axis", 1))
    axis = int(axis if axis is not None else -2)
    if not -rank <= axis < rank or axis % rank == rank - 1 or shape[-1] not in {1, 2}:
        raise node.wrong(f"there is no axis {axis} of numbers in {list(shape)}")
    d, inverse, half = axis % rank, bool(node.get("inverse", 0)), bool(node.get("onesided", 0))
    if half and shape[-1] != 1 + inverse:
        raise node.wrong("onesided is for real signals, and for complex bins of them")
    given, usual = node.number(1), 2 * (shape[d] - 1) if half and inverse else shape[d]
    length = usual if given is None else int(given)
    if length < 1:
        raise node.wrong(f"a transform of {length} elements")
    order = (*(k for k in range(rank - 1) if k != d), d, rank - 1)
    last = node.inputs[0]
    if order != tuple(range(rank)):
        last = node.step("transpose", [last], perm=order)
    made = _transformed(node, last, length, inverse=inverse, half=half)
    parts = 1 if half and inverse else 2
    shaped = [shape[k] for k in order]
    shaped[-2:] = [node.shape_of(made)[-1] // parts, parts]
    if order == tuple(range(rank)):
        node.define("reshape", [made], output=0, shape=tuple(shaped))
        return
    split = node.step("reshape", [made], shape=tuple(shaped))
    back = tuple(order.index(k) for k in range(rank))
    node.define("transpose", [split], output=0, perm=back)


@converts("STFT")
def _stft(node: OnnxNode) -> None:
    shape, step = node.value(0).shape, node.number(1)
    if len(shape) == 2:
        shape = (*shape, 1)
    if len(shape) != 3 or step is None or step < 1:
        raise node.wrong("it takes a batch of signals, and a step of 1 or more")
    batch, size, parts = shape
    if parts != 1:
        raise node.unsupported("signals have to be real")
    given = node.number(3)
    if given is None and not node.has(2):
        raise node.wrong("it has neither a window nor a frame_length")
    length = node.value(2).shape[0] if given is None else int(given)
    if not 1 <= length <= size:
        raise node.wrong(f"frames of {length} elements do not fit signals of {size}")
    flat = node.step("reshape", node.inputs[:1], shape=(batch, size))
    frames = node.step("windows", [flat], axis=1, size=length, step=int(step))
    if node.has(2):
        frames = node.step("mul", [frames, node.inputs[2]])
    count = node.shape_of(frames)[1]
    one = node.step("reshape", [frames], shape=(batch, count, length, 1))
    made = _transformed(node, one, length, inverse=False, half=bool(node.get("onesided", 1)))
    bins = node.shape_of(made)[-1] // 2
    node.define("reshape", [made], output=0, shape=(batch, count, bins, 2))


def _transformed(node: OnnxNode, x: str, length: int, *, inverse: bool, half: bool) -> str:
    """The transform over the last axis but one: ``[..., bins * 2]``, real and imaginary parts; of
    ``half`` the bins back to a signal, ``[..., length]``.

    ``x`` has them along its last axis, or real ones alone. What is missing up to ``length`` is 0.
    """
    *outer, size, parts = node.shape_of(x)
    bins = length // 2 + 1 if half else length
    if size * parts * length * 2 > _MOST_ELEMENTS:
        raise node.unsupported(f"a transform of {length} elements is a matrix of too many")
    if half and inverse:
        matrix = _real_matrix(size, length, bins)
    else:
        matrix = _matrix(size, parts, length, bins, inverse=inverse)
    kind = np.dtype(node.value(0).dtype.numpy_name)
    flat = node.step("reshape", [x], shape=(*outer, size * parts))
    return node.step("matmul", [flat, node.constant(matrix.astype(kind), "transform")])


def _matrix(size: int, parts: int, length: int, bins: int, *, inverse: bool) -> Array:
    """Row ``2 n`` (or ``n``, of real numbers) is what the real part of element ``n`` adds to the
    real and imaginary part of each bin, row ``2 n + 1`` what the imaginary part does."""
    n, k = np.arange(size)[:, None], np.arange(bins)[None, :]
    angle = (1 if inverse else -1) * 2 * np.pi * (n * k % length) / length
    scale = np.where(n < length, 1 / length if inverse else 1.0, 0.0)  # later ones are cut off
    real, imaginary = np.cos(angle) * scale, np.sin(angle) * scale
    of_real = np.stack([real, imaginary], -1)
    of_imaginary = np.stack([-imaginary, real], -1)
    rows = np.stack([of_real, of_imaginary][:parts], 1)
    return rows.reshape(size * parts, bins * 2)


def _real_matrix(size: int, length: int, bins: int) -> Array:
    """Rows ``2 k`` and ``2 k + 1`` are what the parts of bin ``k``, and of its mirror image, add to
    each element of a real signal."""
    k, n = np.arange(size)[:, None], np.arange(length)[None, :]
    angle = 2 * np.pi * (n * k % length) / length
    times = np.where((k == 0) | (2 * k == length), 1.0, 2.0)  # these are their own images
    scale = np.where(k < bins, times / length, 0.0)
    rows = np.stack([np.cos(angle) * scale, -np.sin(angle) * scale], 1)
    return rows.reshape(size * 2, length)
