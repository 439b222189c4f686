"""Converters of convolutions, pooling, normalisations and matrix products."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.fx.call import converts
from polyopt.graph.operators import normal_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.fx.call import Call
    from polyopt.graph.ir.graph import Attribute


def _spread(given: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One number for all dimensions, or one for each."""
    numbers = [given] if isinstance(given, int) else list(given)
    return tuple(numbers * rank) if len(numbers) == 1 else tuple(numbers)


@converts("conv1d", "conv2d", "conv3d", "convolution")
def _conv(call: Call) -> None:
    if call.op == "convolution" and call["transposed"]:
        raise call.unsupported("transposed convolutions are not taken")
    rank = len(call.value("input").shape) - 2
    if isinstance(call["padding"], str):
        raise call.unsupported("padding has to be numbers")
    call.define(
        "conv",
        [call.tensor("input"), call.tensor("weight"), call.optional("bias")],
        strides=_spread(call["stride"], rank),
        pads=_spread(call["padding"], rank) * 2,
        dilations=_spread(call["dilation"], rank),
        group=int(call["groups"]),
    )


@converts("batch_norm", "_native_batch_norm_legit_no_training")
def _batch_norm(call: Call) -> None:
    if call.arguments.get("training", False):
        raise call.unsupported("training is not taken")
    mean = call.tensor("running_mean")
    count = call.importer.values[mean].shape
    kind = call.value("input").dtype.numpy_name
    weight = call.optional("weight") or call.constant(np.ones(count, kind))
    bias = call.optional("bias") or call.constant(np.zeros(count, kind))
    inputs = [call.tensor("input"), weight, bias, mean, call.tensor("running_var")]
    call.define("batch_norm", inputs, epsilon=float(call["eps"]))


@converts("layer_norm", "native_layer_norm")
def _layer_norm(call: Call) -> None:
    shape = tuple(call["normalized_shape"])
    kind = call.value("input").dtype.numpy_name
    weight = call.optional("weight") or call.constant(np.ones(shape, kind))
    inputs = [call.tensor("input"), weight, call.optional("bias")]
    call.define("layer_norm", inputs, axis=-len(shape), epsilon=float(call["eps"]))


@converts("max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices")
def _max_pool(call: Call) -> None:
    rank = len(call.value("self").shape) - 2
    kernel = _spread(call["kernel_size"], rank)
    call.define(
        "max_pool",
        [call.tensor("self")],
        kernel=kernel,
        strides=_spread(call["stride"], rank) or kernel,
        pads=_spread(call["padding"], rank) * 2,
        dilations=_spread(call["dilation"], rank),
        ceil_mode=int(call["ceil_mode"]),
    )


@converts("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(call: Call) -> None:
    if call.arguments.get("divisor_override") is not None:
        raise call.unsupported("divisor_override is not taken")
    rank = len(call.value("self").shape) - 2
    kernel = _spread(call["kernel_size"], rank)
    call.define(
        "avg_pool",
        [call.tensor("self")],
        kernel=kernel,
        strides=_spread(call["stride"], rank) or kernel,
        pads=_spread(call["padding"], rank) * 2,
        dilations=(1,) * rank,
        ceil_mode=int(call["ceil_mode"]),
        count_include_pad=int(call["count_include_pad"]),
    )


@converts("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _adaptive(call: Call) -> None:
    shape = call.value("self").shape
    wanted = _spread(call["output_size"], len(shape) - 2)
    given = shape[2:]
    if any(size % count for size, count in zip(given, wanted, strict=True)):
        raise call.unsupported(f"{list(given)} elements do not divide into {list(wanted)}")
    if prod(wanted) == 1:
        call.define("reduce_mean", [call.tensor("self")], axes=tuple(range(2, len(shape))),
                    keepdims=1)  # fmt: skip
        return
    kernel = tuple(size // count for size, count in zip(given, wanted, strict=True))
    call.define("avg_pool", [call.tensor("self")], kernel=kernel, strides=kernel,
                pads=(0,) * (2 * len(given)), dilations=(1,) * len(given))  # fmt: skip


@converts("linear")
def _linear(call: Call) -> None:
    shape = call.value("input").shape
    count, inner = call.value("weight").shape
    rows = call.tensor("input")
    inputs = [call.tensor("weight"), call.optional("bias")]
    if len(shape) == 2:
        call.define("gemm", [rows, *inputs], trans_b=1)
        return
    flat = call.step("reshape", [rows], shape=(prod(shape[:-1]), inner))
    done = call.step("gemm", [flat, *inputs], trans_b=1)
    call.define("reshape", [done], shape=(*shape[:-1], count))


@converts("addmm")
def _addmm(call: Call) -> None:
    inputs = [call.tensor("mat1"), call.tensor("mat2"), call.tensor("self")]
    call.define("gemm", inputs, alpha=float(call["alpha"]), beta=float(call["beta"]))


@converts("mm", "bmm", "matmul")
def _matmul(call: Call) -> None:
    other = "other" if call.op == "matmul" else "mat2"
    call.define("matmul", [call.tensor("self"), call.tensor(other)])


@converts("softmax", "_softmax", "log_softmax", "_log_softmax")
def _softmax(call: Call) -> None:
    op = "log_softmax" if "log" in call.op else "softmax"
    axis = normal_axis(int(call["dim"]), len(call.value("self").shape))
    _ = [call.arguments.get(name) for name in ("dtype", "half_to_float")]  # the result has it
    call.define(op, [call.converted("self", call.result.dtype)], axis=axis)


#: ATen's name without its rank -> attributes of ``resize``
_UPSAMPLES: dict[str, dict[str, Attribute]] = {
    "upsample_nearest": {"mode": "nearest", "coordinates": "asymmetric", "rounding": "floor"},
    "_upsample_nearest_exact": {"mode": "nearest", "rounding": "round_prefer_ceil"},
    "upsample_linear": {"mode": "linear"},
    "upsample_bilinear": {"mode": "linear"},
    "upsample_trilinear": {"mode": "linear"},
    "upsample_bicubic": {"mode": "cubic"},
    "_upsample_bilinear_aa": {"mode": "linear", "antialias": 1, "exclude_outside": 1},
    "_upsample_bicubic_aa": {
        "mode": "cubic", "cubic_coeff": -0.5, "antialias": 1, "exclude_outside": 1,
    },
}  # fmt: skip


@converts(
    *(f"{name}{rank}d" for name in ("upsample_nearest", "_upsample_nearest_exact")
      for rank in (1, 2, 3)),
    "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d", "upsample_bicubic2d",
    "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa",
)  # fmt: skip
def _upsample(call: Call) -> None:
    given = call.value("input").shape
    factors, wanted = call.arguments.get("scale_factors"), call.arguments.get("output_size")
    if factors is not None:
        spatial = [int(n * f) for n, f in zip(given[2:], factors, strict=True)]
        scales = [float(f) for f in factors]
    else:
        assert wanted is not None
        spatial = [int(n) for n in wanted]
        scales = [s / n for s, n in zip(spatial, given[2:], strict=True)]
    options = dict(_UPSAMPLES[re.sub(r"[123]d", "", call.op)])
    if call.arguments.get("align_corners"):
        options["coordinates"] = "align_corners"
    call.define("resize", [call.tensor("input")], shape=(*given[:2], *spatial),
                scales=(1.0, 1.0, *scales), **options)  # fmt: skip
