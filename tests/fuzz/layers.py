"""Random nodes of ONNX: convolutions, pooling, normalisations, products, quantisation, recurrence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from tests.fuzz.drawing import dtype_of, kind_of
from tests.fuzz.nodes import attributes, draws

if TYPE_CHECKING:
    from tests.fuzz.drawing import Drawing


def _some(d: Drawing, rank: int, low: int, high: int) -> list[int]:
    return [d.number(low, high) for _ in range(rank)]


def _windows(d: Drawing, rank: int, *, dilated: bool = True) -> dict[str, Any]:
    """Strides, dilations and pads; or ``auto_pad``."""
    options: dict[str, Any] = {}
    if d.chance(0.5):
        options["strides"] = _some(d, rank, 1, 3)
    if d.chance(0.3) and dilated:
        options["dilations"] = _some(d, rank, 1, 2)
    if d.chance(0.3):
        options["auto_pad"] = d.one(("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"))
    if d.chance(0.5) and options.get("auto_pad", "NOTSET") == "NOTSET":
        options["pads"] = _some(d, 2 * rank, 0, 2)
    return options


def _image(d: Drawing, op: str, channels: int | None = None, index: int = 0) -> str:
    """An operand of images of 1 to 3 dimensions."""
    rank = d.one((1, 2, 2, 2, 3))
    if d.chance(0.5):
        return d.operand(op, index, rank=(3, 5), fits=lambda s: channels in {None, s[1]}) if (
            channels is None) else d.operand(op, index, rank=(3, 4), shape=None,
                                             fits=lambda s: s[1] == channels)  # fmt: skip
    count = d.batch or d.number(1, 2)
    return d.operand(op, index, shape=(count, channels or d.number(1, 4), *_some(d, rank, 1, 5)))


def _bias(d: Drawing, x: str, op: str, index: int, count: int) -> str:
    return d.like(x, op, index, (count,)) if d.chance(0.5) else ""


@draws("Conv")
def _conv(d: Drawing, op: str) -> None:
    x = _image(d, op)
    rank, channels = d.rank(x) - 2, d.shape_of(x)[1]
    group = d.one([g for g in range(1, channels + 1) if channels % g == 0] or [1])
    kernel, count = _some(d, rank, 1, 3), group * d.number(1, 3)
    w = d.like(x, op, 1, (count, channels // group, *kernel))
    options = _windows(d, rank)
    if d.chance(0.5):
        options["kernel_shape"] = kernel
    if group > 1 or d.chance(0.3):
        options["group"] = group
    d.add(op, [x, w, _bias(d, x, op, 2, count)], **options)


@draws("ConvTranspose")
def _conv_transpose(d: Drawing, op: str) -> None:
    x = _image(d, op)
    rank, channels = d.rank(x) - 2, d.shape_of(x)[1]
    group = d.one([g for g in range(1, channels + 1) if channels % g == 0] or [1])
    kernel, count = _some(d, rank, 1, 3), d.number(1, 2)
    w = d.like(x, op, 1, (channels, count, *kernel))
    options = _windows(d, rank)
    if d.chance(0.3):
        options["output_padding"] = _some(d, rank, 0, 1)
    d.add(op, [x, w, _bias(d, x, op, 2, count * group)], group=group, **options)


@draws("ConvInteger")
def _conv_integer(d: Drawing, op: str) -> None:
    x = _image(d, op)
    rank, channels = d.rank(x) - 2, d.shape_of(x)[1]
    kernel, count = _some(d, rank, 1, 3), d.number(1, 3)
    w = d.operand(op, 1, shape=(count, channels, *kernel))
    zero = d.like(x, op, 2, ()) if d.chance(0.5) else ""
    zeros = d.like(w, op, 3, d.one(((), (count,)))) if d.chance(0.5) else ""
    d.add(op, [x, w, zero, zeros], **_windows(d, rank))


@draws("MaxPool", "AveragePool", "LpPool")
def _pool(d: Drawing, op: str) -> None:
    x = _image(d, op)
    rank = d.rank(x) - 2
    is_dilated = op == "MaxPool" or d.opset >= (19 if op == "AveragePool" else 18)
    options = _windows(d, rank, dilated=is_dilated)
    kernel = _some(d, rank, 1, 3)
    if "pads" in options:
        options["pads"] = [min(p, kernel[k % rank] - 1) for k, p in enumerate(options["pads"])]
    if op != "LpPool" or d.opset >= 18:
        options |= attributes(d, ceil_mode=(0, 1))
    if op == "AveragePool":
        options |= attributes(d, count_include_pad=(0, 1))
    if op == "LpPool":
        options |= attributes(d, p=(1, 2, 3))
    outputs = 2 if op == "MaxPool" and d.chance(0.3) else 1
    d.add(op, [x], outputs, kernel_shape=kernel, **options)


@draws("Col2Im")
def _col2im(d: Drawing, op: str) -> None:
    rank = d.one((1, 2, 2))
    image, block = _some(d, rank, 2, 5), _some(d, rank, 1, 2)
    options = _windows(d, rank)
    options.pop("auto_pad", None)
    pads, strides = options.get("pads", [0] * 2 * rank), options.get("strides", [1] * rank)
    steps = options.get("dilations", [1] * rank)
    counts = [(image[k] + pads[k] + pads[rank + k] - steps[k] * (block[k] - 1) - 1) // strides[k] + 1
              for k in range(rank)]  # fmt: skip
    shape = (d.number(1, 2), int(np.prod(block)) * d.number(1, 2), int(np.prod(counts)))
    d.add(op, [d.operand(op, shape=shape), d.ints(image), d.ints(block)], **options)


# -- normalisations -------------------------------------------------------------------------------

_EPSILONS = (1e-5, 1e-2, 1e-3, 1.0)


@draws("BatchNormalization")
def _batch_norm(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(2, 4))
    channels = d.shape_of(x)[1:2]
    given = [d.like(x, op, k, channels) for k in (1, 2, 3)]
    spread = np.abs(d.elements(channels, np.dtype(np.float32))) + 0.5
    variance = d.fresh(spread.astype(d.arrays[x].dtype))
    d.add(op, [x, *given, variance], **attributes(d, epsilon=_EPSILONS, momentum=(0.5,)))


@draws("LayerNormalization", "RMSNormalization")
def _layer_norm(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    axis = d.axis(d.rank(x))
    shape = d.shape_of(x)[axis:]
    given = [d.like(x, op, 1, shape)]
    if op == "LayerNormalization" and d.chance(0.5):
        given.append(d.like(x, op, 2, shape))
    outputs = d.one((1, 1, 2, 3)) if op == "LayerNormalization" else 1
    d.add(op, [x, *given], outputs, axis=axis, **attributes(d, epsilon=_EPSILONS))


@draws("InstanceNormalization", "GroupNormalization")
def _group_norm(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(3, 4))
    channels = d.shape_of(x)[1]
    groups = d.one([g for g in range(1, channels + 1) if channels % g == 0] or [1])
    is_group = op == "GroupNormalization"
    count = groups if is_group and d.opset < 21 else channels
    more = {"num_groups": groups} if is_group else {}
    d.add(op, [x, d.like(x, op, 1, (count,)), d.like(x, op, 2, (count,))], **more,
          **attributes(d, epsilon=_EPSILONS))  # fmt: skip


@draws("MeanVarianceNormalization")
def _mean_variance(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(4, 4))
    d.add(op, [x], axes=d.axes(4, 1) if d.chance(0.6) else None)


@draws("LRN")
def _lrn(d: Drawing, op: str) -> None:
    options = attributes(d, alpha=(0.1, 1e-4), beta=(0.75, 0.5, 1.0), bias=(1.0, 2.0))
    d.add(op, [d.operand(op, rank=(3, 4))], size=d.number(1, 5), **options)


# -- products -------------------------------------------------------------------------------------


def _matrices(d: Drawing) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of a product: lines, matrices and stacks of them."""
    rows, inner, columns = _some(d, 3, 1, 4)
    one, other = (rows, inner), (inner, columns)
    if d.chance(0.4):
        stack = d.shape(1, 2)
        one = (*stack, *one)
        other = (*(e if d.chance(0.6) else 1 for e in stack), *other) if d.chance(0.5) else other
    elif d.chance(0.3):
        one = one[1:]
    elif d.chance(0.3):
        other = other[:1]
    return one, other


@draws("MatMul")
def _matmul(d: Drawing, op: str) -> None:
    one, other = _matrices(d)
    x = d.operand(op, shape=one)
    d.add(op, [x, d.like(x, op, 1, other)])


@draws("MatMulInteger")
def _matmul_integer(d: Drawing, op: str) -> None:
    one, other = _matrices(d)
    x, y = d.operand(op, shape=one), d.operand(op, 1, shape=other)
    zeros = [
        d.like(x, op, 2, d.one(((), (one[-2],) if len(one) == 2 else ()))) if d.chance(0.5) else "",
        d.like(y, op, 3, d.one(((), other[-1:] if len(other) == 2 else ())))
        if d.chance(0.5)
        else "",
    ]
    d.add(op, [x, y, *zeros])


@draws("Gemm")
def _gemm(d: Drawing, op: str) -> None:
    rows, inner, columns = _some(d, 3, 1, 4)
    flips = attributes(d, transA=(0, 1), transB=(0, 1))
    a = d.operand(op, shape=(inner, rows) if flips.get("transA") else (rows, inner))
    b = d.like(a, op, 1, (columns, inner) if flips.get("transB") else (inner, columns))
    shapes = ((), (columns,), (1, columns), (rows, 1), (rows, columns), (1,))
    c = d.like(a, op, 2, d.one(shapes)) if d.chance(0.6) else ""
    scales = (0.0, 0.5, 1.0, 2.0, -1.0)
    d.add(op, [a, b, c], **flips, **attributes(d, alpha=scales, beta=scales))


_EQUATIONS = {
    "ij,jk->ik": 2, "ij,jk": 2, "bij,bjk->bik": 2, "ii->i": 1, "ij->ji": 1, "ij->": 1, "i,i->": 2,
    "i,j->ij": 2, "...i,i->...": 2, "...ij,...jk->...ik": 2, "ij,kj->ki": 2, "ijk->jk": 1,
    "bhid,bhjd->bhij": 2, "ij,ij->ij": 2, "ij,j,jk->ik": 3, " i j , j k -> i k ": 2, "...->...": 1,
    "ij, ij -> j": 2, "Ab,bA->A": 2,
}  # fmt: skip


@draws("Einsum")
def _einsum(d: Drawing, op: str) -> None:
    equation = d.one(tuple(_EQUATIONS))
    left = equation.replace(" ", "").partition("->")[0].split(",")
    extents = {letter: d.number(1, 4) for letter in "".join(left).replace(".", "")}
    more = d.shape(0, 1)
    shapes = [
        (*(more if term.startswith("...") else ()), *(extents[c] for c in term.replace(".", "")))
        for term in left
    ]
    x = d.operand(op, shape=shapes[0])
    d.add(op, [x, *(d.like(x, op, 0, shape) for shape in shapes[1:])], equation=equation)


@draws("Attention")
def _attention(d: Drawing, op: str) -> None:
    batch, heads, queries, keys, width, out = _some(d, 6, 1, 3)
    group = d.number(1, 2)
    q = d.operand(op, shape=(batch, heads * group, queries, width))
    k = d.like(q, op, 1, (batch, heads, keys, width))
    v = d.like(q, op, 2, (batch, heads, keys, out))
    mask = d.like(q, op, 3, (queries, keys)) if d.chance(0.4) else ""
    options = attributes(d, is_causal=(0, 1), scale=(0.5, 1.0), softcap=(0.0, 2.0))
    d.add(op, [q, k, v, mask], **options)


@draws("RotaryEmbedding")
def _rotary(d: Drawing, op: str) -> None:
    batch, heads, length, half = _some(d, 4, 1, 3)
    x = d.operand(op, shape=(batch, heads, length, 2 * half))
    caches = [d.like(x, op, k, (batch, length, half)) for k in (1, 2)]
    d.add(op, [x, *caches], **attributes(d, interleaved=(0, 1)))


# -- quantisation ---------------------------------------------------------------------------------


def _scale(d: Drawing, shape: tuple[int, ...], kind: str = "float") -> str:
    """Scales: powers of 2, so that halves occur, and others."""
    found = d.draw.choice([0.5, 0.25, 1.0, 0.1, 0.03], size=shape)
    return d.fresh(np.asarray(found).astype(dtype_of(kind)), constant=d.chance(0.8))


def _axis(d: Drawing, x: str) -> tuple[tuple[int, ...], dict[str, Any]]:
    """One scale, or one for each element along an axis."""
    if not d.rank(x) or d.chance(0.6) or d.opset < 13:
        return d.one(((), ())), {}
    axis = d.axis(d.rank(x))
    return d.shape_of(x)[axis:][:1], {"axis": axis}


@draws("QuantizeLinear")
def _quantize(d: Drawing, op: str) -> None:
    x = d.operand(op)
    shape, options = _axis(d, x)
    kind = kind_of(d.arrays[x].dtype)
    scale = _scale(d, shape, kind if kind != "int32" else "float")
    zero = d.operand(op, 2, shape=shape) if d.chance(0.7) else ""
    if not zero and d.opset >= 21:
        options |= attributes(d, output_dtype=(2, 3, 4, 5))
    d.add(op, [x, scale, zero], **options)


@draws("DequantizeLinear")
def _dequantize(d: Drawing, op: str) -> None:
    if d.opset >= 21 and d.chance(0.3):
        _dequantize_narrow(d, op)
        return
    x = d.operand(op)
    shape, options = _axis(d, x)
    kind = d.one(("float", "float", "float16")) if d.opset >= 19 else "float"
    is_wide = kind_of(d.arrays[x].dtype) == "int32"
    zero = d.like(x, op, 2, shape) if d.chance(0.7) and not is_wide else ""
    d.add(op, [x, _scale(d, shape, kind), zero], **options)


def _dequantize_narrow(d: Drawing, op: str) -> None:
    """Constants of 4 bits, with a scale for all, for lines or for blocks."""
    dtype = np.dtype(d.one((ml_dtypes.int4, ml_dtypes.uint4)))
    low = -8 if dtype.name == "int4" else 0
    shape = tuple(2 * d.number(1, 3) for _ in range(d.number(1, 3)))
    axis, block = d.axis(len(shape)), d.one((0, 1, 2))
    lines = (
        [e // block if k == axis % len(shape) else e for k, e in enumerate(shape)] if block else []
    )
    given = [
        d.fresh(d.draw.integers(low, low + 16, size=extents).astype(dtype), constant=True)
        for extents in ((shape, lines) if d.chance(0.6) else (shape,))
    ]
    scale = d.fresh((d.draw.integers(1, 9, size=lines) / 4).astype(np.float32))
    options = {"axis": axis, "block_size": block} if block else {}
    d.add(op, [given[0], scale, *given[1:]], **options)


@draws("QLinearConv")
def _linear_conv(d: Drawing, op: str) -> None:
    x = _image(d, op)
    rank, channels = d.rank(x) - 2, d.shape_of(x)[1]
    group = d.one([g for g in range(1, channels + 1) if channels % g == 0] or [1])
    count = group * d.number(1, 2)
    w = d.operand(op, 3, shape=(count, channels // group, *_some(d, rank, 1, 3)))
    wide = d.one(((), (count,)))
    bias = d.operand(op, 8, shape=(count,)) if d.chance(0.5) else ""
    d.add(op, [
        x, _scale(d, ()), d.like(x, op, 2, ()), w, _scale(d, wide), d.like(w, op, 5, wide),
        _scale(d, ()), d.operand(op, 7, shape=()), bias,
    ], group=group, **_windows(d, rank))  # fmt: skip


@draws("QLinearMatMul")
def _linear_matmul(d: Drawing, op: str) -> None:
    one, other = _matrices(d)
    a, b = d.operand(op, shape=one), d.operand(op, 3, shape=other)
    d.add(op, [
        a, _scale(d, ()), d.like(a, op, 2, ()), b, _scale(d, ()), d.like(b, op, 5, ()),
        _scale(d, ()), d.operand(op, 7, shape=()),
    ])  # fmt: skip


# -- recurrence -----------------------------------------------------------------------------------

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


@draws("RNN", "GRU", "LSTM")
def _recurrent(d: Drawing, op: str) -> None:
    steps, batch, width, hidden = _some(d, 4, 1, 3)
    direction = d.one(("forward", "reverse", "bidirectional"))
    ways, gates = 1 + (direction == "bidirectional"), _GATES[op]
    x = d.operand(op, shape=(steps, batch, width))
    w = d.like(x, op, 1, (ways, gates * hidden, width))
    r = d.like(x, op, 2, (ways, gates * hidden, hidden))
    b = d.like(x, op, 3, (ways, 2 * gates * hidden)) if d.chance(0.5) else ""
    first = d.like(x, op, 5, (ways, batch, hidden)) if d.chance(0.5) else ""
    given = [x, w, r, b, "", first]
    if op == "LSTM":
        cell = d.like(x, op, 6, (ways, batch, hidden)) if first else ""
        given += [cell, d.like(x, op, 7, (ways, 3 * hidden)) if d.chance(0.3) else ""]
    more = attributes(d, linear_before_reset=(0, 1)) if op == "GRU" else {}
    outputs = [True, d.chance(0.7), *([d.chance(0.5)] if op == "LSTM" else [])]
    d.add(op, given, outputs, hidden_size=hidden, direction=direction, **more)


# -- sampling -------------------------------------------------------------------------------------


@draws("Resize")
def _resize(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(1, 4))
    rank, mode = d.rank(x), d.one(("nearest", "linear", "cubic"))
    ways = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    ways += ["half_pixel_symmetric"] if d.opset >= 19 else []
    options = attributes(
        d, coordinate_transformation_mode=ways,
        nearest_mode=("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
        exclude_outside=(0, 0, 1), cubic_coeff_a=(-0.75, -0.5),
    )  # fmt: skip
    if d.opset >= 18:
        options |= attributes(d, antialias=(0, 0, 1))
    keep = 2 if rank > 2 else 0
    axes = list(range(keep, rank)) if d.opset >= 18 and d.chance(0.5) else None
    wanted = axes if axes is not None else range(rank)
    roi = d.fresh(np.zeros(0, np.float32), constant=True) if d.opset < 13 else ""
    if d.chance(0.5):
        factors = [1.0 if k < keep else d.one((1.0, 2.0, 0.5, 1.5, 0.6, 3.0)) for k in wanted]
        given = [x, roi, d.fresh(np.array(factors, np.float32), constant=True)]
    else:
        sizes = [d.shape_of(x)[k] if k < keep else d.number(1, 6) for k in wanted]
        none = d.fresh(np.zeros(0, np.float32), constant=True) if d.opset < 13 else ""
        given = [x, roi, none, d.ints(sizes)]
        if d.opset >= 18:
            policies = ("stretch", "not_larger", "not_smaller")
            options |= attributes(d, keep_aspect_ratio_policy=policies)
    d.add(op, given, axes=axes, mode=mode, **options)


@draws("GridSample")
def _grid_sample(d: Drawing, op: str) -> None:
    batch, channels = d.number(1, 2), d.number(1, 2)
    x = d.operand(op, shape=(batch, channels, *_some(d, 2, 1, 4)))
    grid = d.operand(op, 1, shape=(batch, *_some(d, 2, 1, 3), 2), among=("float", "double"))
    modes = ("linear", "nearest", "cubic") if d.opset >= 20 else ("bilinear", "nearest", "bicubic")
    d.add(op, [x, grid], **attributes(d, mode=modes, align_corners=(0, 1),
                                      padding_mode=("zeros", "border", "reflection")))  # fmt: skip


@draws("AffineGrid")
def _affine_grid(d: Drawing, op: str) -> None:
    batch = d.number(1, 2)
    rank = d.one((2, 2, 3))
    theta = d.operand(op, shape=(batch, rank, rank + 1))
    size = [batch, d.number(1, 2), *_some(d, rank, 1, 4)]
    d.add(op, [theta, d.ints(size)], **attributes(d, align_corners=(0, 1)))


@draws("RoiAlign")
def _roi_align(d: Drawing, op: str) -> None:
    batch, count = d.number(1, 2), d.number(1, 3)
    x = d.operand(op, shape=(batch, d.number(1, 2), *_some(d, 2, 2, 5)))
    corners = np.sort(d.draw.integers(0, 9, size=(count, 2, 2)) / 2.0, axis=1).reshape(count, 4)
    rois = d.fresh(corners.astype(d.arrays[x].dtype))
    which = d.fresh(np.asarray(d.draw.integers(0, batch, size=count)).astype(np.int64))
    options = attributes(d, mode=("avg", "max"), output_height=(1, 2, 3), output_width=(1, 2),
                         sampling_ratio=(0, 1, 2), spatial_scale=(0.5, 1.0))  # fmt: skip
    if d.opset >= 16:
        ways = ("half_pixel", "output_half_pixel")
        options |= attributes(d, coordinate_transformation_mode=ways)
    d.add(op, [x, rois, which], **options)


@draws("Upsample")
def _upsample(d: Drawing, op: str) -> None:
    x = d.operand(op, rank=(3, 4))
    factors = [1.0, 1.0, *(d.one((1.0, 2.0, 3.0, 1.5)) for _ in range(d.rank(x) - 2))]
    scales = d.fresh(np.array(factors, np.float32), constant=True)
    d.add(op, [x, scales], **attributes(d, mode=("nearest", "linear")))
