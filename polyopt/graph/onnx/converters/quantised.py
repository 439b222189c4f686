"""Converters of quantisation, and of convolutions and products of quantised tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.onnx.context import converts
from polyopt.graph.onnx.converters.elements import type_named
from polyopt.graph.onnx.converters.layers import convolution
from polyopt.graph.ops.quantised import QUANTISED

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Attribute
    from polyopt.graph.onnx.context import OnnxNode


@converts("QuantizeLinear")
def _quantize(node: OnnxNode) -> None:
    to = "u8"
    if number := int(node.get("output_dtype", 0)):
        to = type_named(node, number)
    if node.has(2):
        point = node.value(2).dtype.name
        if node.get("output_dtype", 0) and point != to:
            raise node.wrong(f"output_dtype says {to}, its zero point is {point}")
        to = point
    if to not in QUANTISED:
        raise node.unsupported(f"elements of type {to} are no quantised ones that are taken")
    scale = node.inputs[1]
    if number := int(node.get("precision", 0)):
        scale = node.step("cast", [scale], to=type_named(node, number))
    inputs, options = _parameters(node, scale)
    node.define("quantize", inputs, output=0, to=to, **options)


@converts("DequantizeLinear")
def _dequantize(node: OnnxNode) -> None:
    if node.value(0).dtype.is_float:
        _scale_floats(node)
        return
    inputs, options = _parameters(node, node.inputs[1])
    number = int(node.get("output_dtype", 0))
    wanted = type_named(node, number) if number else node.value(1).dtype.name
    if wanted == node.value(1).dtype.name:
        node.define("dequantize", inputs, output=0, **options)
        return
    node.define("cast", [node.step("dequantize", inputs, **options)], to=wanted)


def _scale_floats(node: OnnxNode) -> None:
    """Floats of 8 or 4 bits, constants that are kept as f32: ``x * scale``; they have no zero
    points but 0."""
    if node.inputs[0] not in node.importer.narrow:
        raise node.wrong(f"integers are dequantised, not {node.value(0).dtype}")
    point = node.array(2)
    if point is not None and point.any():
        raise node.wrong("the zero point of floats is 0")
    (x, scale, *_), options = _parameters(node, node.inputs[1])
    if options:
        raise node.unsupported("floats in blocks are not taken")
    kind = node.value(1).dtype.name
    number = int(node.get("output_dtype", 0))
    wanted = type_named(node, number) if number else kind
    wide = scale if kind == "f32" else node.step("cast", [scale], to="f32")
    found = node.step("mul", [x, wide])
    if wanted == "f32":
        node.importer.aliases[node.outputs[0]] = found
        return
    node.define("cast", [found], output=0, to=wanted)


def _parameters(node: OnnxNode, scale: str) -> tuple[list[str], dict[str, Attribute]]:
    """The operand, scale and zero point as they broadcast, and where blocks lie."""
    shape, axis = node.value(0).shape, int(node.get("axis", 1))
    given = [scale, *node.inputs[2:3]]
    # quantisers write one number as an array of one element, or as none, in the same node
    single = node.value(1).size == 1 and node.has(2) and node.value(2).size == 1
    if node.has(2) and not single and node.value(2).shape != node.shape_of(scale):
        raise node.wrong(f"its scale has the shape {list(node.shape_of(scale))},"
                         f" its zero point {list(node.value(2).shape)}")  # fmt: skip
    of_vector = len(shape) == 1 and bool(node.get("block_size", 0))
    if (len(node.shape_of(scale)) > 1 or of_vector) and not single:
        block = _block(node, axis)
        return [node.inputs[0], *given], {"axis": axis, "block": block}
    if node.value(1).size == 1:
        return [node.inputs[0], *(_shaped(node, name, ()) for name in given)], {}
    if not -len(shape) <= axis < len(shape):
        raise node.wrong(f"there is no axis {axis}")
    tail = (1,) * (len(shape) - axis % len(shape) - 1)
    wide = (node.value(1).size, *tail)
    return [node.inputs[0], *(_shaped(node, name, wide) for name in given)], {}


def _block(node: OnnxNode, axis: int) -> int:
    block = int(node.get("block_size", 0))
    if block < 1:
        raise node.wrong("a scale of several dimensions needs a block_size")
    if not -node.rank <= axis < node.rank:
        raise node.wrong(f"there is no axis {axis}")
    return block


def _shaped(node: OnnxNode, name: str, shape: tuple[int, ...]) -> str:
    """A tensor in another shape; nothing, where nothing is given."""
    if not name or node.shape_of(name) == shape:
        return name
    if (known := node.importer.known.get(name)) is not None and known.size == np.prod(shape):
        return node.constant(known.reshape(shape), "shaped")
    return node.step("reshape", [name], shape=shape)


@converts("DynamicQuantizeLinear")
def _dynamic(node: OnnxNode) -> None:
    every = {"axes": tuple(range(node.rank)), "keepdims": 0}
    low = node.step("reduce_min", node.inputs, **every)
    high = node.step("reduce_max", node.inputs, **every)
    scale, zero = node.outputs[1], node.outputs[2]
    node.define("dynamic_scale", [low, high], output=1)
    whole = node.step("dynamic_zero", [low, scale])
    node.define("cast", [whole], output=2, to="u8")
    node.define("quantize", [node.inputs[0], scale, zero], to="u8")


@converts("ConvInteger")
def _conv_integer(node: OnnxNode) -> None:
    points = _points(node, 2, 3)
    convolution(node, "conv_integer", 1, [node.inputs[0], node.inputs[1], *points])


@converts("QLinearConv")
def _linear_conv(node: OnnxNode) -> None:
    x, x_scale, _, w, w_scale, _, y_scale, y_zero = node.inputs[:8]
    _one_number(node, (1, "input's scale"), (6, "output's scale"), (7, "output's zero point"))
    points = _points(node, 2, 5, weights=3)
    sums = convolution(node, "conv_integer", 3, [x, w, *points], step=True)
    wide = (1,) * (node.rank - 2)
    if node.has(8):
        sums = node.step("add", [sums, _shaped(node, node.inputs[8], (node.value(8).size, *wide))])
    factors = _shaped(node, w_scale, () if node.value(4).size == 1 else (node.value(4).size, *wide))
    _requantized(node, sums, [_shaped(node, x_scale, ()), factors, _shaped(node, y_scale, ())],
                 _shaped(node, y_zero, ()), 7)  # fmt: skip


def _points(node: OnnxNode, x: int, w: int, weights: int = 1) -> list[str]:
    """Zero points of a convolution as they broadcast; none where all are known to be 0."""
    count, *rest = node.value(weights).shape
    found: list[str] = []
    for index in (x, w):
        if not node.has(index) or _is_zero(node, index):
            found.append("")
            continue
        size = node.value(index).size
        if index == x and size != 1:
            raise node.wrong(f"its input {index} has {size} elements, where it takes one")
        if size not in {1, count}:
            raise node.wrong(f"{size} zero points do not fit {count} output channels")
        shape = () if size == 1 else (size, *(1,) * len(rest))
        found.append(_shaped(node, node.inputs[index], shape))
    return found


def _is_zero(node: OnnxNode, index: int) -> bool:
    known = node.importer.known.get(node.inputs[index])
    return known is not None and not known.any()


def _one_number(node: OnnxNode, *wanted: tuple[int, str]) -> None:
    for index, what in wanted:
        if node.value(index).size != 1:
            raise node.unsupported(f"the {what} has {node.value(index).size} elements, not one")


def _requantized(node: OnnxNode, sums: str, scales: list[str], zero: str, point: int) -> None:
    """``sums * x_scale * w_scale / y_scale`` as integers of the zero point's type."""
    one, two, over = scales
    factor = node.step("div", [node.step("mul", [one, two]), over])
    node.define("requantize", [sums, factor, zero], to=node.value(point).dtype.name)


@converts("MatMulInteger")
def _matmul_integer(node: OnnxNode) -> None:
    points = [_of_lines(node, 2, 0), _of_lines(node, 3, 1)]
    node.define("matmul_integer", [*node.inputs[:2], *points])


@converts("QLinearMatMul")
def _linear_matmul(node: OnnxNode) -> None:
    _one_number(node, (6, "output's scale"), (7, "output's zero point"))
    points = [_of_lines(node, 2, 0), _of_lines(node, 5, 3)]
    sums = node.step("matmul_integer", [node.inputs[0], node.inputs[3], *points])
    scales = [_of_lines(node, 1, 0), _of_lines(node, 4, 3), _shaped(node, node.inputs[6], ())]
    _requantized(node, sums, scales, _shaped(node, node.inputs[7], ()), 7)


def _of_lines(node: OnnxNode, index: int, operand: int) -> str:
    """A parameter of each row of the first operand, or column of the second, as it broadcasts."""
    if not node.has(index):
        return ""
    if not node.value(index).dtype.is_float and _is_zero(node, index):
        return ""
    size, rank = node.value(index).size, len(node.value(index).shape)
    if size == 1:
        return _shaped(node, node.inputs[index], ())
    if rank > 1:
        return node.inputs[index]
    return _shaped(node, node.inputs[index], (size, 1) if operand == 0 else (1, size))
