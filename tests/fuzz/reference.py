"""What a node gives, by ONNX's reference evaluator, and how far results may be from it.

Of float16 and bfloat16 the evaluator rounds each step, or fails: it computes with float32 here,
and the result is rounded once. Of float32 it computes in float64 as well, as sums of few digits
are as good in another order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_HALVES = {"float16", "bfloat16"}


def evaluate(
    node: Any, opset: int, fed: Mapping[str, Any], types: Mapping[str, Any], *, wide: bool = False
) -> list[Any]:
    """Results of a node on its operands by name; ``wide``: float32 as float64.

    Raises what the evaluator raises.
    """
    raised = {"float32": np.float64} if wide else dict.fromkeys(_HALVES, np.float32)
    given = {n: a.astype(raised.get(a.dtype.name, a.dtype)) for n, a in fed.items()}
    names = [name for name in node.output if name]
    with np.errstate(all="ignore"):
        own = _OWN.get(node.op_type)
        results = own(node, opset, given) if own else _run(node, opset, given)
        return [np.asarray(r) if wide else np.asarray(r).astype(types[n])
                for n, r in zip(names, results, strict=True)]  # fmt: skip


def _run(node: Any, opset: int, given: Mapping[str, Any]) -> Sequence[Any]:
    graph = helper.make_graph(
        [node], "one", [helper.make_tensor_value_info(
            n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in given.items()],
        [helper.make_value_info(name, onnx.TypeProto()) for name in node.output if name],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return ReferenceEvaluator(model).run(None, dict(given))


# -- where the evaluator has nothing, or another version ------------------------------------------


def attribute(node: Any, name: str, default: Any) -> Any:
    """An attribute of a node, or its default; floats have 32 bits."""
    found = next((a for a in node.attribute if a.name == name), None)
    usual = float(np.float32(default)) if isinstance(default, float) else default
    return usual if found is None else helper.get_attribute_value(found)


def _global_norm(node: Any, _opset: int, given: Mapping[str, Any]) -> list[Any]:
    """It has no GlobalLpPool."""
    (x,) = given.values()
    p = attribute(node, "p", 2)
    sums = (np.abs(x) ** p).sum(axis=tuple(range(2, x.ndim)), keepdims=True)
    return [sums ** (1 / p)]


def _flat(node: Any, opset: int, given: Mapping[str, Any]) -> Sequence[Any]:
    """Before opset 13 lines are of all axes from one on: it takes that axis alone."""
    if opset >= 13:
        return _run(node, opset, given)
    ((name, x),) = given.items()
    axis = attribute(node, "axis", 1) % x.ndim
    lines = x.reshape(int(np.prod(x.shape[:axis])), -1)
    last = helper.make_node(node.op_type, node.input, node.output, axis=-1)
    return [_run(last, 13, {name: lines})[0].reshape(x.shape)]


def _dequantize(node: Any, opset: int, given: Mapping[str, Any]) -> Sequence[Any]:
    """It has no DequantizeLinear before opset 19, which is the same."""
    return _run(node, max(opset, 19), given)


def _norm_of_windows(node: Any, opset: int, given: Mapping[str, Any]) -> list[Any]:
    """Its LpPool divides and multiplies by counts that differ at edges: windows padded with 0."""
    ((name, x),) = given.items()
    rank, p = x.ndim - 2, attribute(node, "p", 2)
    shape = _run(_as_max_pool(node), max(opset, 12), {name: np.zeros_like(x)})[0].shape
    padded = np.pad(np.abs(x) ** p, [(0, 0)] * 2 + [(_ROOM, _ROOM)] * rank)
    result = sum((padded[at] for at in _taps(node, x.shape, shape)), np.zeros(shape, x.dtype))
    return [result ** (1 / p)]


def _lp_norm(node: Any, opset: int, given: Mapping[str, Any]) -> list[Any]:
    """It adds up elements with their signs where p is 1."""
    (x,) = given.values()
    p, axis = attribute(node, "p", 2), attribute(node, "axis", -1)
    norm = (np.abs(x) ** p).sum(axis=axis, keepdims=True) ** (1.0 / p)
    return [np.where(norm == 0, x.dtype.type(0), x / norm)]


def _transposed(node: Any, opset: int, given: Mapping[str, Any]) -> list[Any]:
    """It mixes up groups: each is computed alone."""
    group, names = attribute(node, "group", 1), list(node.input)
    kept = {a.name: helper.get_attribute_value(a) for a in node.attribute if a.name != "group"}
    alone = helper.make_node("ConvTranspose", node.input, node.output, **kept)
    x, w = given[names[0]], given[names[1]]
    bias = given[names[2]] if len(names) > 2 else None
    found = []
    for k in range(group):
        fed = {names[0]: np.split(x, group, 1)[k]}
        fed = {**given, **fed} if len(set(names)) == len(names) else given
        fed[names[1]] = np.split(w, group, 0)[k]
        if bias is not None:
            fed[names[2]] = np.split(bias, group, 0)[k]
        found.append(_run(alone, opset, fed)[0])
    return [np.concatenate(found, 1)]


def _average(node: Any, opset: int, given: Mapping[str, Any]) -> Sequence[Any]:
    (x,) = given.values()
    return _run(_padded(node, x.shape), opset, given)


def _padded(node: Any, shape: Sequence[int]) -> Any:
    """The node with pads for ``auto_pad``: it cuts images where strides are wider than windows."""
    mode = attribute(node, "auto_pad", b"NOTSET")
    if mode not in {b"SAME_UPPER", b"SAME_LOWER"}:
        return node
    rank = len(shape) - 2
    ones = [1] * rank
    totals = [max(0, (-(-n // s) - 1) * s + d * (k - 1) + 1 - n) for n, s, d, k in zip(
        shape[2:], attribute(node, "strides", ones), attribute(node, "dilations", ones),
        attribute(node, "kernel_shape", ones), strict=True)]  # fmt: skip
    few, many = [t // 2 for t in totals], [t - t // 2 for t in totals]
    kept = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    kept = {k: v for k, v in kept.items() if k not in {"auto_pad", "ceil_mode"}}
    pads = few + many if mode == b"SAME_UPPER" else many + few
    return helper.make_node(node.op_type, node.input, node.output, **kept, pads=pads)


def _max_pool(node: Any, opset: int, given: Mapping[str, Any]) -> Sequence[Any]:
    """It counts places within a channel in some forms: the first greatest one of each window."""
    (x,) = given.values()
    node = _padded(node, x.shape)
    if len(node.output) == 1:
        return _run(node, opset, given)
    alone = helper.make_node("MaxPool", node.input, node.output[:1])
    alone.attribute.extend(a for a in node.attribute if a.name != "storage_order")
    (found,) = _run(alone, opset, given)
    rank = x.ndim - 2
    where = np.arange(x.size).reshape(x.shape)
    best, places = np.full(found.shape, -1), _taps(node, x.shape, found.shape)
    room = [(0, 0)] * 2 + [(_ROOM, _ROOM)] * rank
    values = np.pad(x.astype(np.float64), room, constant_values=np.nan)
    numbers = np.pad(where, room)
    for at in places:
        is_first = (best < 0) & (values[at] == found.astype(np.float64))
        best = np.where(is_first, numbers[at], best)
    return [found, best]


#: elements that are put around an image: more than any window reaches
_ROOM = 40


def _taps(node: Any, shape: Sequence[int], found: Sequence[int]) -> list[Any]:
    """Subscripts of padded images for each element of a kernel."""
    rank = len(shape) - 2
    kernel = attribute(node, "kernel_shape", [])
    strides, dilations = (attribute(node, k, [1] * rank) for k in ("strides", "dilations"))
    mode = attribute(node, "auto_pad", b"NOTSET")
    begins = list(attribute(node, "pads", [0] * rank))[:rank]
    if mode in {b"SAME_UPPER", b"SAME_LOWER"}:
        totals = [max(0, (o - 1) * s + d * (k - 1) + 1 - n) for o, s, d, k, n in zip(
            found[2:], strides, dilations, kernel, shape[2:], strict=True)]  # fmt: skip
        begins = [t // 2 if mode == b"SAME_UPPER" else t - t // 2 for t in totals]
    result = []
    for at in np.ndindex(*kernel):
        places = [_ROOM - b + d * a + s * np.arange(o) for b, d, a, s, o in zip(
            begins, dilations, at, strides, found[2:], strict=True)]  # fmt: skip
        result.append(np.ix_(range(shape[0]), range(shape[1]), *places))
    return result


def _roi_align(node: Any, opset: int, given: Mapping[str, Any]) -> Sequence[Any]:
    """Before opset 16 there is no half a pixel, and it takes one."""
    if opset >= 16:
        return _run(node, opset, given)
    older = onnx.NodeProto()
    older.CopyFrom(node)
    older.attribute.append(
        helper.make_attribute("coordinate_transformation_mode", "output_half_pixel")
    )
    return _run(older, 16, given)


def _integer_product(node: Any, opset: int, given: Mapping[str, Any]) -> Sequence[Any]:
    """It takes zero points of lines as of columns."""
    names = [*node.input, "", ""]
    a, b = (given[n].astype(np.int32) for n in names[:2])
    if names[2]:
        zero = given[names[2]].astype(np.int32)
        a = a - (zero[:, None] if zero.ndim == 1 and zero.size > 1 else zero)
    if names[3]:
        b = b - given[names[3]].astype(np.int32)
    return [a @ b]


def _response(node: Any, opset: int, given: Mapping[str, Any]) -> list[Any]:
    """It takes the axis of images for that of channels."""
    (x,) = given.values()
    size, channels = attribute(node, "size", 1), x.shape[1]
    alpha, beta = attribute(node, "alpha", 1e-4), attribute(node, "beta", 0.75)
    sums = np.zeros_like(x)
    for c in range(channels):
        first, last = max(0, c - (size - 1) // 2), min(channels - 1, c + size // 2)
        sums[:, c] = (x[:, first : last + 1] ** 2).sum(axis=1)
    return [x / (attribute(node, "bias", 1.0) + alpha / size * sums) ** beta]


def _mean_variance(node: Any, _opset: int, given: Mapping[str, Any]) -> list[Any]:
    """It subtracts squares of like numbers, in few digits."""
    (x,) = (array.astype(np.float64) for array in given.values())
    axes = tuple(attribute(node, "axes", (0, 2, 3)))
    away = x - x.mean(axis=axes, keepdims=True)
    return [away / (np.sqrt((away**2).mean(axis=axes, keepdims=True)) + 1e-9)]


def _linear_conv(node: Any, _opset: int, given: Mapping[str, Any]) -> Sequence[Any]:
    """It takes zero points of channels as of columns: exact sums in float64, rounded once."""
    x, x_scale, x_zero, w, w_scale, w_zero, scale, zero = (given[n] for n in node.input[:8])
    wide = (-1, *(1,) * (w.ndim - 1))
    fed = {"x": x.astype(np.float64) - x_zero.astype(np.float64),
           "w": w.astype(np.float64) - w_zero.astype(np.float64).reshape(wide)}  # fmt: skip
    sums = _run(_as_conv(node), 11, fed)[0]
    along = (1, *wide)[: w.ndim]
    if len(node.input) > 8:
        sums = sums + given[node.input[8]].astype(np.float64).reshape(along)
    factor = x_scale.astype(np.float64) * w_scale.astype(np.float64).reshape(along) / scale
    info = np.iinfo(zero.dtype)
    return [np.clip(np.rint(sums * factor) + zero.astype(np.float64), info.min, info.max)]


def _integer_conv(node: Any, _opset: int, given: Mapping[str, Any]) -> Sequence[Any]:
    """As above."""
    names = [*node.input, "", ""]
    x, w = (given[n].astype(np.float64) for n in names[:2])
    if names[2]:
        x = x - given[names[2]].astype(np.float64)
    if names[3]:
        w = w - given[names[3]].astype(np.float64).reshape(-1, *(1,) * (w.ndim - 1))
    return _run(_as_conv(node), 11, {"x": x, "w": w})


def _as_conv(node: Any) -> Any:
    kept = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    return helper.make_node("Conv", ["x", "w"], node.output, **kept)


def _scatter(node: Any, _opset: int, given: Mapping[str, Any]) -> Sequence[Any]:
    """It has no Scatter, which is what ScatterElements was called before opset 11."""
    options = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    return _run(helper.make_node("ScatterElements", node.input, node.output, **options), 11, given)


def _as_max_pool(node: Any) -> Any:
    """A node whose result has the same shape."""
    kept = {a.name: helper.get_attribute_value(a) for a in node.attribute if a.name != "p"}
    return helper.make_node("MaxPool", node.input, node.output, **kept)


def _one_hot(node: Any, opset: int, given: Mapping[str, Any]) -> Sequence[Any]:
    """It does not cast indices to integers, as ONNX says."""
    alone = onnx.NodeProto()
    alone.CopyFrom(node)
    alone.input[0] = "indices"
    fed = {"indices": given[node.input[0]].astype(np.int64)}
    return _run(alone, opset, {**fed, **{n: given[n] for n in node.input[1:]}})


def _batch_norm(node: Any, opset: int, given: Mapping[str, Any]) -> Sequence[Any]:
    """Before opset 14 it trains where a momentum is given, and one is by default."""
    return _run(node, max(opset, 15), given)


_OWN: dict[str, Callable[[Any, int, Mapping[str, Any]], Sequence[Any]]] = {
    "AveragePool": _average, "BatchNormalization": _batch_norm, "ConvInteger": _integer_conv,
    "ConvTranspose": _transposed, "DequantizeLinear": _dequantize, "GlobalLpPool": _global_norm,
    "Hardmax": _flat, "LRN": _response, "LogSoftmax": _flat, "LpNormalization": _lp_norm,
    "LpPool": _norm_of_windows, "MatMulInteger": _integer_product, "MaxPool": _max_pool,
    "MeanVarianceNormalization": _mean_variance,
    "OneHot": _one_hot, "QLinearConv": _linear_conv, "RoiAlign": _roi_align, "Scatter": _scatter,
    "Softmax": _flat,
}  # fmt: skip

# -- how far results may be from it ---------------------------------------------------------------

#: operators of which each result is the number nearest to the exact one, or an operand's
_EXACT = {
    "Abs", "Add", "Cast", "CastLike", "Ceil", "CenterCropPad", "Clip", "Concat", "DepthToSpace", "Div",
    "Dropout", "Expand", "EyeLike", "Flatten", "Floor", "Gather", "GatherElements", "GatherND",
    "Hardmax", "Identity", "Max", "MaxPool", "Min", "Mul", "Neg", "OneHot", "Pad", "Relu",
    "ReduceMax", "ReduceMin", "Reshape", "Round", "Sign", "Slice", "SpaceToDepth", "Split", "Sqrt",
    "Squeeze", "Sub", "Tile", "TopK", "Transpose", "Trilu", "Unsqueeze", "Where", "GlobalMaxPool",
}  # fmt: skip
#: of these which zero is the result is not said
_ANY_ZERO = {
    "Clip", "Max", "Min", "Relu", "ReduceMax", "ReduceMin", "MaxPool", "GlobalMaxPool", "TopK",
    "Cast", "CastLike", "Sign",
}  # fmt: skip


def differs(node: Any, found: Any, expected: Any, wide: Any, fed: Mapping[str, Any]) -> str:
    """What is other in a result than it may be; "" where nothing is."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return f"{found.dtype}{list(found.shape)}, not {expected.dtype}{list(expected.shape)}"
    allowed = undefined(node, expected, fed)
    if found.dtype.kind in "iub":
        steps = 1 if node.op_type in _STEPS else 0
        away = np.abs(found.astype(np.float64) - expected.astype(np.float64))
        good = (found == expected) | ((away <= steps) if steps else False)
    else:
        good = _close(node, found, expected, fed)
        if wide is not None and wide.shape == found.shape:
            good |= _close(node, found, wide.astype(found.dtype), fed)
    if (good | allowed).all():
        return ""
    at = np.argwhere(~(good | allowed))[0].tolist()
    here = tuple(at)
    return f"{found[here]!r}, not {expected[here]!r}, at {at} of {found.dtype}{list(found.shape)}"


#: operators that round a quotient or product that may be a half but for its last digit
_STEPS = {"QuantizeLinear", "QLinearConv", "QLinearMatMul", "DynamicQuantizeLinear"}


#: beyond it sums and products of some operands may overflow in one order, and not in another
_HUGE = 1e12
#: operators of float64 of which the evaluator has some steps, or a constant of 1/6, in float32
_SINGLE = {
    "Gelu",
    "AffineGrid",
    "InstanceNormalization",
    "Erf",
    "Resize",
    "HardSwish",
    "GroupNormalization",
    "LayerNormalization",
    "RMSNormalization",
}


def _close(node: Any, found: Any, expected: Any, fed: Mapping[str, Any]) -> Any:
    x, y = found.astype(np.float64), expected.astype(np.float64)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    if node.op_type in _EXACT:
        if node.op_type in _ANY_ZERO:
            return same
        return same & ((np.signbit(x) == np.signbit(y)) | np.isnan(x))
    info = ml_dtypes.finfo(found.dtype)
    scale = 1.0
    for array in fed.values():
        if array.dtype.kind not in "iub":
            wide = np.abs(array.astype(np.float64))
            scale *= max(1.0, float(np.max(wide, where=np.isfinite(wide), initial=0.0)))
    eps = float(info.eps)
    if node.op_type in _SINGLE:
        eps = max(eps, float(np.finfo(np.float32).eps))
    if scale > _HUGE and node.op_type not in _POINTWISE:
        return np.True_
    few = min(scale * scale, 1e300) if node.op_type not in _POINTWISE else 1.0
    with np.errstate(all="ignore"):
        near = 64 * eps * (np.abs(y) + few)
        return same | (np.abs(x - y) <= near)


#: operators on elements of which errors do not grow with other elements
_POINTWISE = {
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf", "Exp", "Log", "Pow",
    "Reciprocal", "Sigmoid", "Sin", "Sinh", "Softsign", "Tan", "Tanh", "Elu", "Celu", "Selu",
    "HardSigmoid", "HardSwish", "LeakyRelu", "Gelu", "Mish", "Softplus", "PRelu", "Mod", "Swish",
    "ThresholdedRelu", "Shrink",
}  # fmt: skip

#: of these NaN may be passed over: ONNX does not say, and ONNX Runtime does; of recurrent ones BLAS
#: leaves out what it takes times 0
_NAN_IS_FREE = {
    "ArgMax", "ArgMin", "AveragePool", "DynamicQuantizeLinear", "GRU", "GlobalMaxPool", "GridSample",
    "Hardmax", "LSTM", "MaxPool", "QuantizeLinear", "RNN", "ReduceMax", "ReduceMin", "RoiAlign",
    "TopK",
}  # fmt: skip


def undefined(node: Any, expected: Any, fed: Mapping[str, Any]) -> Any:
    """Where ONNX does not say what the result is: all of it, or a mask."""
    arrays = [fed[n] for n in node.input if n and n in fed]
    floats = [a.astype(np.float64) for a in arrays if a.dtype.kind not in "iub"]
    if node.op_type in _NAN_IS_FREE and any(np.isnan(a).any() for a in floats):
        return np.True_
    rule = _UNDEFINED.get(node.op_type)
    if rule is None:
        return np.False_
    return np.broadcast_to(rule(arrays, expected) & np.True_, expected.shape)


def _of_cast(arrays: Sequence[Any], expected: Any) -> Any:
    """Floats that are no integers of the type."""
    is_cut = arrays[0].dtype.kind not in "iub" and expected.dtype.kind in "iu"
    return _outside(arrays[0].astype(np.float64), expected.dtype) if is_cut else np.False_


def _of_quotient(arrays: Sequence[Any], expected: Any) -> Any:
    if expected.dtype.kind not in "iu":
        return np.False_
    return (arrays[1] == 0) | _overflows(*arrays)


def _of_power(arrays: Sequence[Any], expected: Any) -> Any:
    """Powers that are no integers of the type, or not as float64 has them."""
    if expected.dtype.kind not in "iu":
        return np.False_
    with np.errstate(all="ignore"):
        power = arrays[0].astype(np.float64) ** arrays[1].astype(np.float64)
    return _outside(power, expected.dtype) | (np.abs(power) > 2.0**50) | (arrays[1] < 0)


def _of_scale(arrays: Sequence[Any], _expected: Any) -> Any:
    """Quotients that overflow in the evaluator."""
    return ~(np.abs(arrays[0].astype(np.float64)) < 1e6)


def _of_range(arrays: Sequence[Any], _expected: Any) -> Any:
    return np.asarray(not np.isfinite(arrays[0]).all())


def _of_affine(_arrays: Sequence[Any], expected: Any) -> Any:
    """Small numbers of the body are 0 in float16: what it divides by them is NaN."""
    return np.asarray(expected.dtype.itemsize == 2)


def _of_transposed(arrays: Sequence[Any], _expected: Any) -> Any:
    """NaN, and infinity times a weight that is not there."""
    return np.asarray(not all(np.isfinite(a.astype(np.float64)).all() for a in arrays[:2]))


def _of_spread(arrays: Sequence[Any], expected: Any) -> Any:
    """The evaluator has zeros between the weights of a dilated kernel, and infinity times them."""
    return np.isnan(expected) & _of_transposed(arrays, expected)


def _of_shares(arrays: Sequence[Any], expected: Any) -> Any:
    """The evaluator takes infinity times a share of 0 of the nearest elements as well."""
    return np.isnan(expected) & _of_transposed(arrays[:1], expected)


def _of_shift(arrays: Sequence[Any], _expected: Any) -> Any:
    return arrays[1] >= 8 * arrays[1].dtype.itemsize


_UNDEFINED: dict[str, Callable[[Sequence[Any], Any], Any]] = {
    "Cast": _of_cast, "CastLike": _of_cast, "Div": _of_quotient, "Mod": _of_quotient,
    "Pow": _of_power, "QuantizeLinear": _of_scale, "DynamicQuantizeLinear": _of_range,
    "AffineGrid": _of_affine, "Resize": _of_shares, "ConvTranspose": _of_transposed, "Conv": _of_spread, "BitShift": _of_shift,
}  # fmt: skip


def _overflows(x: Any, y: Any) -> Any:
    if x.dtype.kind == "u":
        return np.zeros(np.broadcast_shapes(x.shape, y.shape), bool)
    return (x == np.iinfo(x.dtype).min) & (y == -1)


def _outside(x: Any, dtype: Any) -> Any:
    info = np.iinfo(dtype)
    with np.errstate(all="ignore"):
        whole = np.trunc(x)
        return ~((whole >= float(info.min)) & (whole <= float(info.max)) & (whole < 2.0**63 * (
            2 if dtype.kind == "u" else 1)))  # fmt: skip
