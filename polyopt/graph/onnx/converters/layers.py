"""Converters of convolutions, pooling, normalisations and matrix products."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.onnx.context import as_ints, converts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.ir.graph import Attribute
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
    node.define(op, inputs, output=0, **options, group=group)
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


@converts("ConvTranspose")
def _conv_transpose(node: OnnxNode) -> None:
    kernel = kernel_of(node, 1)
    strides, pads, dilations = windows(node, kernel)
    rank, inputs = len(kernel), node.value(0).shape[2:]
    more = as_ints(node.get("output_padding", [0] * rank))
    if len(more) != rank or min(more, default=0) < 0:
        raise node.wrong(f"output_padding {list(more)} does not fit {rank} dimension(s)")
    mode, wanted = node.get("auto_pad", "NOTSET"), as_ints(node.get("output_shape", ()))
    reach = [
        strides[d] * (inputs[d] - 1) + more[d] + dilations[d] * (kernel[d] - 1) + 1
        for d in range(rank)
    ]
    if not wanted and mode in {"SAME_UPPER", "SAME_LOWER"}:
        wanted = tuple(n * s for n, s in zip(inputs, strides, strict=True))
    if wanted and len(wanted) != rank:
        raise node.wrong(f"output_shape {list(wanted)} does not fit {rank} dimension(s)")
    if wanted:
        totals = [max(0, r - n) for r, n in zip(reach, wanted, strict=True)]
        begins = tuple(t // 2 if mode == "SAME_UPPER" else t - t // 2 for t in totals)
    else:
        begins = pads[:rank]
        wanted = tuple(r - pads[d] - pads[rank + d] for d, r in enumerate(reach))
    node.define("conv_transpose", strides=strides, begins=begins, dilations=dilations,
                extents=wanted, group=int(node.get("group", 1)),
                finite=node.importer.is_finite(node.inputs[1]))  # fmt: skip


@converts("Col2Im")
def _col2im(node: OnnxNode) -> None:
    image, block = node.numbers(1, "image_shape") or (), node.numbers(2, "block_shape") or ()
    rank = len(image)
    strides, dilations = (as_ints(node.get(k, [1] * rank)) for k in ("strides", "dilations"))
    pads = as_ints(node.get("pads", [0] * 2 * rank))
    if not len(block) == len(strides) == len(dilations) == rank or len(pads) != 2 * rank:
        raise node.wrong(f"block, strides, dilations and pads do not fit {rank} dimension(s)")
    if min((*strides, *dilations, *block, *image), default=0) < 1 or node.rank != 3:
        raise node.wrong("its extents, strides and dilations are not all positive")
    counts = [(image[d] + pads[d] + pads[rank + d] - dilations[d] * (block[d] - 1) - 1)
              // strides[d] + 1 for d in range(rank)]  # fmt: skip
    batch, channels, places = node.value(0).shape
    if channels % prod(block) or places != prod(counts):
        raise node.wrong(f"{list(node.value(0).shape)} is not made of blocks {list(block)} at"
                         f" {counts} places")  # fmt: skip
    shape = (batch, channels // prod(block), *block, *counts)
    split = node.step("reshape", node.inputs[:1], shape=shape)
    node.define("fold", [split], extents=image, strides=strides, begins=pads[:rank],
                dilations=dilations)  # fmt: skip


@converts("MaxPool", "AveragePool", "LpPool")
def _pool(node: OnnxNode) -> None:
    kernel = as_ints(node.get("kernel_shape", ()))
    strides, pads, dilations = windows(node, kernel)
    # What ceil_mode means for windows that auto_pad made is settled by auto_pad.
    rounds_up = int(node.get("ceil_mode", 0)) and node.get("auto_pad", "NOTSET") == "NOTSET"
    options: dict[str, Attribute] = {
        "kernel": kernel, "strides": strides, "pads": pads, "dilations": dilations,
        "ceil_mode": int(rounds_up),
    }  # fmt: skip
    if node.op == "AveragePool":
        included = int(node.get("count_include_pad", 0))
        node.define("avg_pool", output=0, count_include_pad=included, **options)
        return
    if node.op == "LpPool":
        node.define("lp_pool", output=0, p=int(node.get("p", 2)), **options)
        return
    node.define("max_pool", output=0, **options)
    if len(node.outputs) > 1 and node.outputs[1]:
        order = int(node.get("storage_order", 0))
        node.define("max_pool_places", output=1, column_major=order, **options)


@converts("GlobalLpPool")
def _global_norm(node: OnnxNode) -> None:
    kernel = node.value(0).shape[2:]
    ones = (1,) * len(kernel)
    node.define("lp_pool", kernel=kernel, strides=ones, pads=(0,) * (2 * len(kernel)),
                dilations=ones, p=int(node.get("p", 2)))  # fmt: skip


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
    x = node.inputs[0]  # both are of the type that stash_type says, whatever the operand is
    wide = x if node.value(0).dtype.name == "f32" else node.step("cast", [x], to="f32")
    mean = node.step("reduce_mean", [wide], **over)
    if outputs[1]:
        node.define("reshape", [mean], output=1, shape=node.shape_of(mean))
    if outputs[2]:
        away = node.step("sub", [wide, mean])
        spread = node.step("reduce_mean", [node.step("mul", [away, away])], **over)
        least = node.constant(np.array(epsilon, np.float32), "epsilon")
        deviation = node.step("sqrt", [node.step("add", [spread, least])])
        node.define("reciprocal", [deviation], output=2)


def _need_stash(node: OnnxNode) -> None:
    if node.get("stash_type", 1) != 1:
        raise node.unsupported("stash_type has to be 1")


@converts("InstanceNormalization")
def _instance(node: OnnxNode) -> None:
    if node.rank < 2:
        raise node.wrong("its input has no channels")
    channels = node.value(0).shape[1]
    node.define("group_norm", groups=channels, epsilon=float(node.get("epsilon", 1e-5)))


@converts("GroupNormalization")
def _group(node: OnnxNode) -> None:
    _need_stash(node)
    groups = int(node.get("num_groups", 0))
    for index in (1, 2) if node.opset >= 21 and node.rank > 1 else ():
        given, channels = node.value(index).shape, node.value(0).shape[1:2]
        if given != channels:
            raise node.wrong(f"its input {index} has the shape {list(given)}, not {list(channels)}")
    node.define("group_norm", groups=groups, epsilon=float(node.get("epsilon", 1e-5)))


@converts("RMSNormalization")
def _rms(node: OnnxNode) -> None:
    _need_stash(node)
    node.define("rms_norm", axis=int(node.get("axis", -1)),
                epsilon=float(node.get("epsilon", 1e-5)))  # fmt: skip


@converts("MeanVarianceNormalization")
def _mean_variance(node: OnnxNode) -> None:
    axes = as_ints(node.get("axes", (0, 2, 3)))
    node.define("mean_variance_norm", axes=axes)


@converts("LpNormalization")
def _lp(node: OnnxNode) -> None:
    node.define("lp_norm", axis=int(node.get("axis", -1)), p=int(node.get("p", 2)))


@converts("LRN")
def _response(node: OnnxNode) -> None:
    node.define(
        "local_response_norm",
        size=int(node.get("size")),
        alpha=float(node.get("alpha", 1e-4)),
        beta=float(node.get("beta", 0.75)),
        bias=float(node.get("bias", 1.0)),
    )


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
