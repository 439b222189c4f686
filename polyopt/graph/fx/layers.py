"""Converters of convolutions, pooling, normalisations and matrix products."""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.fx.arithmetic import axes_of
from polyopt.graph.fx.call import converts
from polyopt.graph.fx.elements import along
from polyopt.graph.fx.extremes import extreme, place
from polyopt.graph.operators import normal_axis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.fx.call import Call
    from polyopt.graph.ir.graph import Attribute


def _spread(given: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One number for all dimensions, or one for each."""
    numbers = [given] if isinstance(given, int) else list(given)
    return tuple(numbers * rank) if len(numbers) == 1 else tuple(numbers)


@converts("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(call: Call) -> None:
    """The result's shape, output padding included, is PyTorch's."""
    _ = call["output_padding"]
    rank = len(call.value("input").shape) - 2
    call.define(
        "conv_transpose",
        [call.tensor("input"), call.tensor("weight"), call.optional("bias")],
        strides=_spread(call["stride"], rank),
        begins=_spread(call["padding"], rank),
        dilations=_spread(call["dilation"], rank),
        extents=call.result.shape[2:],
        group=int(call["groups"]),
        finite=call.importer.is_finite(call.tensor("weight")),
    )


@converts("conv1d", "conv2d", "conv3d", "convolution")
def _conv(call: Call) -> None:
    if call.op == "convolution" and call["transposed"]:
        _conv_transpose(call)
        return
    _ = call.arguments.get("output_padding")  # of transposed ones alone
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


@converts("batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_no_training")
def _batch_norm(call: Call) -> None:
    if call.arguments.get("training", False):
        if call.arguments.get("running_mean") is not None:
            raise call.unsupported("statistics that are kept change in training")
        _norm_by_own_statistics(call)
        return
    mean = call.tensor("running_mean")
    count = call.importer.values[mean].shape
    kind = call.value("input").dtype.numpy_name
    weight = call.optional("weight") or call.constant(np.ones(count, kind))
    bias = call.optional("bias") or call.constant(np.zeros(count, kind))
    inputs = [call.tensor("input"), weight, bias, mean, call.tensor("running_var")]
    call.define("batch_norm", inputs, epsilon=float(call["eps"]))


def _norm_by_own_statistics(call: Call) -> None:
    """Each channel by its mean and variance over all images: a group norm of one image, the
    images' pixels side by side."""
    shape, x = call.value("input").shape, call.tensor("input")
    _ = call.arguments.get("momentum"), call.arguments.get("running_var")
    swapped = (1, 0, *range(2, len(shape)))
    apart = shape[0] > 1
    if apart:
        x = call.step("transpose", [x], perm=swapped)
    flat = call.step("reshape", [x], shape=(1, shape[1], prod(shape) // shape[1]))
    ones, zeros = (make(shape[1], call.result.dtype.numpy_name) for make in (np.ones, np.zeros))
    inputs = [flat, call.optional("weight") or call.constant(ones),
              call.optional("bias") or call.constant(zeros)]  # fmt: skip
    found = call.step("group_norm", inputs, groups=shape[1], epsilon=float(call["eps"]))
    if not apart:
        call.define("reshape", [found], shape=shape)
        return
    back = call.step("reshape", [found], shape=(shape[1], shape[0], *shape[2:]))
    call.define("transpose", [back], perm=swapped)


@converts("layer_norm", "native_layer_norm")
def _layer_norm(call: Call) -> None:
    shape = tuple(call["normalized_shape"])
    kind = call.value("input").dtype.numpy_name
    weight = call.optional("weight") or call.constant(np.ones(shape, kind))
    inputs = [call.tensor("input"), weight, call.optional("bias")]
    call.define("layer_norm", inputs, axis=-len(shape), epsilon=float(call["eps"]))


@converts("max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices")
def _max_pool(call: Call) -> None:
    x, rank = call.tensor("self"), int(re.findall(r"(\d)d", call.op)[0])
    shape = call.importer.values[x].shape
    if len(shape) == rank + 1:  # one image
        x = call.step("reshape", [x], shape=(1, *shape))
    kernel = _spread(call["kernel_size"], rank)
    found = call.step(
        "max_pool",
        [x],
        kernel=kernel,
        strides=_spread(call["stride"], rank) or kernel,
        pads=_spread(call["padding"], rank) * 2,
        dilations=_spread(call["dilation"], rank),
        ceil_mode=int(call["ceil_mode"]),
        keep_nan=1,
    )
    if len(shape) == rank + 1:
        call.define("reshape", [found], shape=call.importer.values[found].shape[1:])
        return
    call.alias(found)


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
        _shared_windows(call, given, wanted)
        return
    if prod(wanted) == 1:
        call.define("reduce_mean", [call.tensor("self")], axes=tuple(range(2, len(shape))),
                    keepdims=1)  # fmt: skip
        return
    kernel = tuple(size // count for size, count in zip(given, wanted, strict=True))
    call.define("avg_pool", [call.tensor("self")], kernel=kernel, strides=kernel,
                pads=(0,) * (2 * len(given)), dilations=(1,) * len(given))  # fmt: skip


def _shared_windows(call: Call, given: Sequence[int], wanted: Sequence[int]) -> None:
    """Means over windows of which neighbours share elements, each cut out and reduced: a product
    with shares of 0 would make NaN of infinities elsewhere."""
    now = call.tensor("self")
    for axis, (size, count) in enumerate(zip(given, wanted, strict=True), 2):
        shape, parts = call.importer.values[now].shape, list[str]()
        for k in range(count):
            window = range(k * size // count, -(-(k + 1) * size // count))
            cut = call.step("slice", [now], **along(shape, axis, window))
            parts.append(call.step("reduce_mean", [cut], axes=(axis,), keepdims=1))
        now = call.step("concat", parts, axis=axis) if count > 1 else parts[0]
    call.alias(now)


@converts("group_norm", "native_group_norm", "instance_norm")
def _group_norm(call: Call) -> None:
    """Instance normalisation has a group for each channel."""
    x = call.value("self" if "self" in call.arguments else "input")
    channels = x.shape[1]
    if call.op == "instance_norm" and not call["use_input_stats"]:
        raise call.unsupported("kept statistics are not taken")
    _ = [call.arguments.get(n) for n in ("N", "C", "HxW", "running_mean", "running_var")]
    names = {"group_norm": "num_groups", "native_group_norm": "group"}
    groups = int(call[names[call.op]]) if call.op in names else channels
    ones, zeros = (make(channels, x.dtype.numpy_name) for make in (np.ones, np.zeros))
    inputs = [call.tensor("input"), call.optional("weight") or call.constant(ones),
              call.optional("bias") or call.constant(zeros)]  # fmt: skip
    call.define("group_norm", inputs, groups=groups, epsilon=float(call["eps"]))


@converts("rms_norm")
def _rms_norm(call: Call) -> None:
    shape, kind = tuple(call["normalized_shape"]), call.value("input").dtype
    weight = call.optional("weight") or call.constant(np.ones(shape, kind.numpy_name))
    eps = call["eps"]
    epsilon = float(np.finfo(kind.computed.numpy_name).eps if eps is None else eps)
    call.define("rms_norm", [call.tensor("input"), weight], axis=-len(shape), epsilon=epsilon)


@converts("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def _grid_sample(call: Call) -> None:
    modes, paddings = ("linear", "nearest", "cubic"), ("zeros", "border", "reflection")
    mode, padding = modes[int(call["interpolation_mode"])], int(call["padding_mode"])
    call.define("grid_sample", [call.tensor("input"), call.tensor("grid")],
                mode=mode, padding=paddings[padding], by_element=int(mode == "cubic"),
                align_corners=int(call["align_corners"]))  # fmt: skip


@converts("prelu")
def _prelu(call: Call) -> None:
    """A slope for each channel, or one."""
    weight, rank = call.value("weight"), len(call.value("self").shape)
    shape = (weight.size, *(1,) * (rank - 2)) if weight.size > 1 else (1,)
    slope = call.step("reshape", [call.tensor("weight")], shape=shape)
    call.define("prelu", [call.tensor("self"), slope])


@converts("softplus")
def _softplus(call: Call) -> None:
    """Beyond its threshold PyTorch gives the operand, from which this differs by no bit."""
    if call["threshold"] < 20:  # exp(-20) is nothing beside 20, in f32
        raise call.unsupported("a threshold below 20 is not taken")
    beta = float(call["beta"])
    if beta == 1.0:
        call.define("softplus", [call.tensor("self")])
        return
    name = call.tensor("self")
    raised = call.step("softplus", [call.step("mul", [name, call.number_like(name, beta)])])
    call.define("div", [raised, call.number_like(name, beta)])


@converts("elu", "selu", "celu")
def _elu(call: Call) -> None:
    """``scale * x`` above zero, ``scale * alpha * (exp(x * input_scale) - 1)`` below."""
    alpha, scale, inner = {
        "elu": lambda: (call["alpha"], call["scale"], call["input_scale"]),
        "selu": lambda: (1.6732632423543772, 1.0507009873554805, 1.0),
        "celu": lambda: (call["alpha"], 1.0, 1.0 / call["alpha"]),
    }[call.op]()
    name = call.tensor("self")
    if inner == 1.0:
        below = call.step("elu", [name], alpha=float(alpha))
        call.define("mul", [below, call.number_like(name, float(scale))])
        return
    if abs(alpha * inner - 1.0) > 1e-12:
        raise call.unsupported("alpha and input_scale do not fit together")
    spread = call.step("elu", [call.step("mul", [name, call.number_like(name, inner)])], alpha=1.0)
    call.define("mul", [spread, call.number_like(name, float(alpha * scale))])


@converts("mish")
def _mish(call: Call) -> None:
    name = call.tensor("self")
    call.define("mul", [name, call.step("tanh", [call.step("softplus", [name])])])


@converts("glu")
def _glu(call: Call) -> None:
    """The first half, weighed by a sigmoid of the second."""
    shape = call.value("self").shape
    axis = normal_axis(int(call["dim"]), len(shape))
    half = shape[axis] // 2
    parts = [
        call.step("slice", [call.tensor("self")], **along(shape, axis, range(first, first + half)))
        for first in (0, half)
    ]
    call.define("mul", [parts[0], call.step("sigmoid", [parts[1]])])


@converts("pixel_shuffle")
def _pixel_shuffle(call: Call) -> None:
    """``[c * r * r][h][w]`` -> ``[c][h * r][w * r]``."""
    *rest, channels, h, w = call.value("self").shape
    r = int(call["upscale_factor"])
    apart = call.step(
        "reshape", [call.tensor("self")], shape=(*rest, channels // (r * r), r, r, h, w)
    )
    n = len(rest)
    mixed = call.step("transpose", [apart], perm=(*range(n), n, n + 3, n + 1, n + 4, n + 2))
    call.define("reshape", [mixed], shape=(*rest, channels // (r * r), h * r, w * r))


@converts("max", "min")
def _extreme(call: Call) -> None:
    """Along an axis: elements and their places; of two tensors, the one or the other."""
    op = call.op
    if "other" in call.arguments:
        kind = call.result.dtype
        call.define(f"{op}imum", [call.converted(name, kind) for name in ("self", "other")])
        return
    if "dim" not in call.arguments:
        rank = len(call.value("self").shape)
        call.alias(extreme(call, op, call.tensor("self"), range(rank), 0))
        return
    axis = normal_axis(int(call["dim"]), len(call.value("self").shape))
    keep = int(call["keepdim"])
    given = call.tensor("self")
    found = extreme(call, op, given, (axis,), keep)
    call.several([found, place(call, op, given, axis, keep)])


@converts("argmax", "argmin")
def _place(call: Call) -> None:
    name, axis = call.tensor("self"), call["dim"]
    if axis is None:
        name, axis = call.step("reshape", [name], shape=(call.value("self").size,)), 0
        if call["keepdim"]:
            raise call.unsupported("keepdim without dim is not taken")
    along = normal_axis(int(axis), len(call.importer.values[name].shape))
    call.alias(place(call, call.op[3:], name, along, int(call["keepdim"])))


@converts("topk")
def _topk(call: Call) -> None:
    _ = call["sorted"]
    axis = normal_axis(int(call["dim"]), len(call.value("self").shape))
    options = {"axis": axis, "k": int(call["k"]), "largest": int(call["largest"])}
    call.several(
        [call.step(op, [call.tensor("self")], **options) for op in ("top_k", "top_k_places")]
    )


@converts("var", "std", "var_mean", "std_mean")
def _var(call: Call) -> None:
    """The mean of squares of what is left without the mean, for ``n - correction``."""
    shape, name = call.value("self").shape, call.tensor("self")
    axes, keep = axes_of(call), int(call.arguments.get("keepdim", False))
    correction = call.arguments.get("correction")
    if "unbiased" in call.arguments:
        correction = int(call["unbiased"])
    rest = prod(shape[d] for d in axes) - (1 if correction is None else correction)
    mean = call.step("reduce_mean", [name], axes=axes, keepdims=1)
    away = call.step("sub", [name, mean])
    squares = call.step("mul", [away, away])
    total = call.step("reduce_sum", [squares], axes=axes, keepdims=keep)
    found = call.step("div", [total, call.number_like(name, max(0.0, float(rest)))])
    if call.op.startswith("std"):
        found = call.step("sqrt", [found])
    if call.op in {"var", "std"}:
        call.alias(found)
        return
    beside = tuple(n for d, n in enumerate(shape) if d not in axes)
    call.several([found, mean if keep else call.step("reshape", [mean], shape=beside)])


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
