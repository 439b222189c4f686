"""Converters of operators that repeat elements, keep some, or put them in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.onnx.context import converts
from polyopt.graph.onnx.converters.elements import type_named
from polyopt.ir.types import ELEMENTS

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Attribute
    from polyopt.graph.onnx.context import OnnxNode


@converts("Tile")
def _tile(node: OnnxNode) -> None:
    repeats = node.numbers(1, "repeats")
    if repeats is None or len(repeats) != node.rank or min(repeats, default=0) < 0:
        raise node.wrong(f"it takes one repeat for each of {node.rank} axes")
    if not all(repeats):
        node.nothing(tuple(e * r for e, r in zip(node.value(0).shape, repeats, strict=True)))
        return
    node.define("tile", node.inputs[:1], repeats=repeats)


@converts("Trilu")
def _trilu(node: OnnxNode) -> None:
    if node.rank < 2:
        raise node.wrong("it takes matrices")
    value, k, is_upper = node.value(0), int(node.number(1) or 0), int(node.get("upper", 1))
    rows, columns = value.shape[-2:]
    if (k >= columns) if is_upper else (k <= -rows):  # nothing of it is kept
        zeros = np.zeros(value.shape, np.dtype(value.dtype.numpy_name))
        node.importer.constant(node.outputs[0], zeros, node.span)
        return
    node.define("trilu", node.inputs[:1], k=k, upper=is_upper)


@converts("EyeLike")
def _eye_like(node: OnnxNode) -> None:
    value = node.value(0)
    if len(value.shape) != 2:
        raise node.wrong(f"it takes a matrix, not {len(value.shape)} dimension(s)")
    given = node.get("dtype")
    kind = value.dtype if given is None else ELEMENTS[type_named(node, int(given))]
    rows, columns = value.shape
    eye = np.eye(rows, columns, int(node.get("k", 0))).astype(np.dtype(kind.numpy_name))
    node.importer.constant(node.outputs[0], eye, node.span)


def _blocks(node: OnnxNode) -> tuple[int, tuple[int, int, int, int]]:
    """The size of a block, and the shape of the operand."""
    size, shape = int(node.get("blocksize", 0)), node.value(0).shape
    if size < 1 or len(shape) != 4:
        raise node.wrong("it takes an operand of 4 dimensions and a blocksize of 1 or more")
    n, c, h, w = shape
    return size, (n, c, h, w)


def _mode(node: OnnxNode) -> str:
    mode = str(node.get("mode", "DCR"))
    if mode not in {"DCR", "CRD"}:
        raise node.wrong(f"a mode is DCR or CRD, not {mode!r}")
    return mode


@converts("DepthToSpace")
def _depth_to_space(node: OnnxNode) -> None:
    size, (n, c, h, w) = _blocks(node)
    if c % (size * size):
        raise node.wrong(f"{c} channels do not fill blocks of {size} times {size}")
    depth = c // (size * size)
    first = _mode(node) == "DCR"
    parts = (n, size, size, depth, h, w) if first else (n, depth, size, size, h, w)
    split = node.step("reshape", node.inputs, shape=parts)
    perm = (0, 3, 4, 1, 5, 2) if first else (0, 1, 4, 2, 5, 3)
    moved = node.step("transpose", [split], perm=perm)
    node.define("reshape", [moved], shape=(n, depth, h * size, w * size))


@converts("SpaceToDepth")
def _space_to_depth(node: OnnxNode) -> None:
    size, (n, c, h, w) = _blocks(node)
    if h % size or w % size:
        raise node.wrong(f"{h} times {w} elements do not fill blocks of {size} times {size}")
    split = node.step("reshape", node.inputs, shape=(n, c, h // size, size, w // size, size))
    perm = (0, 3, 5, 1, 2, 4) if _mode(node) == "DCR" else (0, 1, 3, 5, 2, 4)
    moved = node.step("transpose", [split], perm=perm)
    node.define("reshape", [moved], shape=(n, c * size * size, h // size, w // size))


@converts("CumSum", "CumProd")
def _cumulative(node: OnnxNode) -> None:
    rank, shape = node.rank, node.value(0).shape
    given = node.number(1)
    if given is None or not -rank <= given < rank:
        raise node.wrong(f"there is no axis {given}")
    axis = int(given) % rank
    op, neutral = ("cumsum", 0.0) if node.op == "CumSum" else ("cumprod", 1.0)
    is_reverse, is_exclusive = node.get("reverse", 0), node.get("exclusive", 0)
    source = node.inputs[0]
    back: dict[str, Attribute] = {
        "starts": tuple(shape[d] - 1 if d == axis else 0 for d in range(rank)),
        "steps": tuple(-1 if d == axis else 1 for d in range(rank)),
        "shape": shape,
    }
    if is_reverse:
        source = node.step("slice", [source], **back)
    if is_exclusive:
        one = [int(d == axis) for d in range(rank)]
        source = node.step("pad", [source], pads=(*one, *(-k for k in one)), value=neutral)
    if not is_reverse:
        node.define(op, [source], axis=axis)
        return
    node.define("slice", [node.step(op, [source], axis=axis)], output=0, **back)


@converts("OneHot")
def _one_hot(node: OnnxNode) -> None:
    depth = node.number(1)
    if depth is None or depth < 1:
        raise node.wrong("it takes a depth of 1 or more")
    node.define("one_hot", [node.inputs[0], node.inputs[2]], depth=int(depth),
                axis=int(node.get("axis", -1)))  # fmt: skip


@converts("Einsum")
def _einsum(node: OnnxNode) -> None:
    node.define("einsum", equation=str(node.get("equation", "")))


@converts("ReverseSequence")
def _reverse_sequence(node: OnnxNode) -> None:
    node.define("reverse_sequence", time=int(node.get("time_axis", 0)),
                batch=int(node.get("batch_axis", 1)))  # fmt: skip


@converts("TensorScatter")
def _tensor_scatter(node: OnnxNode) -> None:
    mode = str(node.get("mode", "linear"))
    if mode not in {"linear", "circular"}:
        raise node.wrong(f"a mode is linear or circular, not {mode!r}")
    node.define("write_rows", axis=int(node.get("axis", -2)), circular=int(mode == "circular"))


@converts("Range", "ConstantOfShape")
def _of_known_size(node: OnnxNode) -> None:
    """Both are computed while reading, where their operands are known."""
    for k in range(len(node.inputs)):
        node.array(k)
    raise node.unsupported("its result has more elements than could be kept, or none can be made")
