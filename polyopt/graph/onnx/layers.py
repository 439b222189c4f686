"""Converters of convolutions, pooling, normalisations and matrix products."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.onnx.context import as_ints, converts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.onnx.context import OnnxNode


@converts("Conv")
def _conv(node: OnnxNode) -> None:
    convolution(node, "conv", 1, node.inputs)


def convolution(
    node: OnnxNode, op: str, w: int, inputs: Sequence[str], *, step: bool = False
) -> str:
    """A convolution with the weights ``w`` by an operator; the name of its tensor.

    With ``step`` it is on the way to the output.
    """
    kernel = kernel_of(node, w)
    strides, pads, dilations = windows(node, kernel)
    options = {"strides": strides, "pads": pads, "dilations": dilations}
    group = int(node.get("group", 1))
    if step:
        return node.step(op, inputs, **options, group=group)
    node.define(op, inputs, **options, group=group)
    return node.outputs[0]


def kernel_of(node: OnnxNode, w: int) -> tuple[int, ...]:
    """The extents of weights. Raises ``GraphError`` where ``kernel_shape`` says others."""
    kernel = node.value(w).shape[2:]
    if "kernel_shape" in node.attributes and as_ints(node.get("kernel_shape")) != kernel:
        raise node.wrong(f"kernel_shape says {list(node.get('kernel_shape'))},"
                         f" the weights have {list(kernel)}")  # fmt: skip
    return kernel


def windows(
    node: OnnxNode, kernel: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Strides, pads and dilations, with ``auto_pad`` worked out."""
    rank = len(kernel)
    strides = as_ints(node.get("strides", [1] * rank))
    dilations = as_ints(node.get("dilations", [1] * rank))
    pads = as_ints(node.get("pads", [0] * 2 * rank))
    mode = node.get("auto_pad", "NOTSET")
    inputs = node.value(0).shape[2:]
    if not len(strides) == len(dilations) == len(inputs) == rank or len(pads) != 2 * rank:
        raise node.wrong(f"strides, pads and dilations do not fit {len(inputs)} dimension(s)")
    if min((*strides, *dilations), default=1) < 1:
        raise node.wrong(
            f"strides {list(strides)} and dilations {list(dilations)} are not all positive"
        )
    if mode == "VALID":
        pads = (0,) * (2 * rank)
    elif mode in {"SAME_UPPER", "SAME_LOWER"}:
        totals = [
            max(0, (-(-n // s) - 1) * s + d * (k - 1) + 1 - n)
            for n, s, d, k in zip(inputs, strides, dilations, kernel, strict=True)
        ]
        small, large = [t // 2 for t in totals], [t - t // 2 for t in totals]
        pads = (*small, *large) if mode == "SAME_UPPER" else (*large, *small)
    return strides, pads, dilations


@converts("MaxPool", "AveragePool")
def _pool(node: OnnxNode) -> None:
    if len(node.outputs) > 1 and node.outputs[1]:
        raise node.unsupported("indices of the greatest elements are not given")
    kernel = as_ints(node.get("kernel_shape", ()))
    strides, pads, dilations = windows(node, kernel)
    # What ceil_mode means for windows that auto_pad made is settled by auto_pad.
    rounds_up = int(node.get("ceil_mode", 0)) and node.get("auto_pad", "NOTSET") == "NOTSET"
    if node.op == "MaxPool":
        node.define("max_pool", kernel=kernel, strides=strides, pads=pads, dilations=dilations,
                    ceil_mode=int(rounds_up))  # fmt: skip
        return
    node.define("avg_pool", kernel=kernel, strides=strides, pads=pads, dilations=dilations,
                ceil_mode=int(rounds_up),
                count_include_pad=int(node.get("count_include_pad", 0)))  # fmt: skip


@converts("GlobalAveragePool", "GlobalMaxPool")
def _global(node: OnnxNode) -> None:
    op = "reduce_mean" if node.op == "GlobalAveragePool" else "reduce_max"
    node.define(op, axes=tuple(range(2, node.rank)), keepdims=1)


@converts("BatchNormalization")
def _batch_norm(node: OnnxNode) -> None:
    if node.get("training_mode", 0) or len([o for o in node.outputs if o]) > 1:
        raise node.unsupported("training is not taken", "export the network for inference")
    node.define("batch_norm", epsilon=float(node.get("epsilon", 1e-5)))


@converts("LayerNormalization")
def _layer_norm(node: OnnxNode) -> None:
    if node.get("stash_type", 1) != 1:
        raise node.unsupported("stash_type has to be 1")
    axis, epsilon = int(node.get("axis", -1)), float(node.get("epsilon", 1e-5))
    node.define("layer_norm", axis=axis, epsilon=epsilon)
    outputs = (*node.outputs, "", "")
    if not (outputs[1] or outputs[2]):
        return
    over = {"axes": tuple(range(axis % node.rank, node.rank)), "keepdims": 1}
    mean = node.step("reduce_mean", node.inputs[:1], **over)
    if outputs[1]:
        node.define("reshape", [mean], output=1, shape=node.shape_of(mean))
    if outputs[2]:
        away = node.step("sub", [node.inputs[0], mean])
        spread = node.step("reduce_mean", [node.step("mul", [away, away])], **over)
        least = node.constant(np.array(epsilon, node.value(0).dtype.numpy_name), "epsilon")
        deviation = node.step("sqrt", [node.step("add", [spread, least])])
        node.define("reciprocal", [deviation], output=2)


@converts("Softmax", "LogSoftmax")
def _softmax(node: OnnxNode) -> None:
    op = "softmax" if node.op == "Softmax" else "log_softmax"
    shape = node.value(0).shape
    if node.opset >= 13 or not shape:
        node.define(op, axis=int(node.get("axis", -1)))
        return
    axis = int(node.get("axis", 1)) % len(shape)  # before opset 13: over all axes from it on
    flat = node.step("reshape", node.inputs, shape=(prod(shape[:axis]), prod(shape[axis:])))
    done = node.step(op, [flat], axis=1)
    node.define("reshape", [done], shape=shape)


@converts("Gemm")
def _gemm(node: OnnxNode) -> None:
    node.define(
        "gemm",
        alpha=float(node.get("alpha", 1.0)),
        beta=float(node.get("beta", 1.0)),
        trans_a=int(node.get("transA", 0)),
        trans_b=int(node.get("transB", 0)),
    )


@converts("MatMul")
def _matmul(node: OnnxNode) -> None:
    node.define("matmul")
