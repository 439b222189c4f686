"""Converters of operators on single elements, and of reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.onnx.context import converts, converts_as
from polyopt.ir.types import ELEMENTS

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Attribute
    from polyopt.graph.onnx.context import OnnxNode

converts_as({
    "Abs": "abs", "Add": "add", "Ceil": "ceil", "Cos": "cos", "Div": "div", "Erf": "erf",
    "Exp": "exp", "Floor": "floor", "HardSwish": "hardswish", "Log": "log", "Mul": "mul",
    "Neg": "neg", "PRelu": "prelu", "Reciprocal": "reciprocal", "Relu": "relu",
    "Sigmoid": "sigmoid", "Sin": "sin", "Softplus": "softplus", "Sqrt": "sqrt", "Sub": "sub",
    "Tanh": "tanh",
})  # fmt: skip


@converts("LeakyRelu", "Elu")
def _with_alpha(node: OnnxNode) -> None:
    op, usual = ("leaky_relu", 0.01) if node.op == "LeakyRelu" else ("elu", 1.0)
    node.define(op, alpha=float(node.get("alpha", usual)))


@converts("HardSigmoid")
def _hard_sigmoid(node: OnnxNode) -> None:
    alpha, beta = float(node.get("alpha", 0.2)), float(node.get("beta", 0.5))
    node.define("hard_sigmoid", alpha=alpha, beta=beta)


@converts("Swish")
def _swish(node: OnnxNode) -> None:
    alpha = float(node.get("alpha", 1.0))
    if alpha == 1.0:
        node.define("silu")
        return
    factor = node.constant(np.array(alpha, node.value(0).dtype.numpy_name), "alpha")
    part = node.step("sigmoid", [node.step("mul", [node.inputs[0], factor])])
    node.define("mul", [node.inputs[0], part])


@converts("Gelu")
def _gelu(node: OnnxNode) -> None:
    node.define("gelu", approximate=str(node.get("approximate", "none")))


@converts("Clip")
def _clip(node: OnnxNode) -> None:
    ends: dict[str, float] = {}
    for index, name, attribute in ((1, "low", "min"), (2, "high", "max")):
        if attribute in node.attributes:
            ends[name] = float(node.get(attribute))
        elif (found := node.number(index)) is not None:
            ends[name] = found
    node.define("clip", node.inputs[:1], output=0, **ends)


@converts("Pow")
def _pow(node: OnnxNode) -> None:
    base, exponent = node.value(0), node.value(1)
    if base.dtype == exponent.dtype:
        node.define("power")
        return
    if exponent.dtype.is_float and not base.dtype.is_float:  # the exponent has a fraction
        wide = [node.step("cast", [name], to="f64") for name in node.inputs]
        node.define("cast", [node.step("power", wide)], to=base.dtype.name)
        return
    converted = node.step("cast", node.inputs[1:], to=base.dtype.name)
    node.define("power", [node.inputs[0], converted])


@converts("Min", "Max", "Sum")
def _several(node: OnnxNode) -> None:
    op = {"Min": "minimum", "Max": "maximum", "Sum": "add"}[node.op]
    _joined(node, op)


def _joined(node: OnnxNode, op: str) -> None:
    """Any number of operands, from the left."""
    first, *others = node.inputs
    if not others:
        node.alias()
        return
    for other in others[:-1]:
        first = node.step(op, [first, other])
    node.define(op, [first, others[-1]])


@converts("Mean")
def _mean(node: OnnxNode) -> None:
    first, *others = node.inputs
    for other in others:
        first = node.step("add", [first, other])
    count = np.array(len(node.inputs), node.value(0).dtype.numpy_name)
    node.define("div", [first, node.constant(count, "count")])


@converts("Cast")
def _cast(node: OnnxNode) -> None:
    to = type_named(node, int(node.get("to")))
    if to == node.value(0).dtype.name:
        node.alias()
        return
    node.define("cast", to=to)


def type_named(node: OnnxNode, number: int) -> str:
    """Our name of one of ONNX's types. Raises ``UnsupportedError`` for a type that C has not."""
    import onnx

    try:
        name = onnx.helper.tensor_dtype_to_np_dtype(number).name
    except KeyError:
        name = str(number)
    known = {t.numpy_name: t.name for t in ELEMENTS.values()}
    if name not in known:
        raise node.unsupported(f"there is no type {name}", f"there are: {', '.join(known)}")
    return known[name]


@converts("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
def _reduce(node: OnnxNode) -> None:
    op = f"reduce_{node.op.removeprefix('Reduce').lower()}"
    axes = node.numbers(1, "axes")
    if not axes:
        if node.get("noop_with_empty_axes", 0):
            node.alias()
            return
        axes = tuple(range(node.rank))
    node.define(op, node.inputs[:1], axes=axes, keepdims=int(node.get("keepdims", 1)))


#: ONNX's name -> ours; over no axes, the steps before and after the reduction remain
COMPOSITE = {
    "ReduceL1": "reduce_l1", "ReduceL2": "reduce_l2", "ReduceLogSum": "reduce_log_sum",
    "ReduceLogSumExp": "reduce_log_sum_exp", "ReduceSumSquare": "reduce_sum_square",
}  # fmt: skip


@converts(*COMPOSITE)
def _composite(node: OnnxNode) -> None:
    axes = node.numbers(1, "axes") or ()
    if not axes and not node.get("noop_with_empty_axes", 0):
        axes = tuple(range(node.rank))
    options = {"axes": axes, "keepdims": int(node.get("keepdims", 1))}
    node.define(COMPOSITE[node.op], node.inputs[:1], output=0, **options)


@converts("ArgMax", "ArgMin")
def _arg(node: OnnxNode) -> None:
    op = "arg_max" if node.op == "ArgMax" else "arg_min"
    last = int(node.get("select_last_index", 0))
    axis, keepdims = int(node.get("axis", 0)), int(node.get("keepdims", 1))
    node.define(op, axis=axis, keepdims=keepdims, last=last)


@converts("TopK")
def _top_k(node: OnnxNode) -> None:
    found = node.numbers(1, "k")
    if found is None or len(found) != 1:
        raise node.wrong("it takes one k")
    options: dict[str, Attribute] = {
        "axis": int(node.get("axis", -1)), "k": found[0], "largest": int(node.get("largest", 1)),
    }  # fmt: skip
    for output, op in enumerate(("top_k", "top_k_places")):
        if output < len(node.outputs) and node.outputs[output]:
            node.define(op, node.inputs[:1], output=output, **options)


@converts("Hardmax")
def _hardmax(node: OnnxNode) -> None:
    if node.opset < 13 and int(node.get("axis", 1)) % max(1, node.rank) != node.rank - 1:
        raise node.unsupported("before opset 13 the axis has to be the last one")
    node.define("hardmax", axis=int(node.get("axis", -1)))


@converts("Identity", "Dropout")
def _identity(node: OnnxNode) -> None:
    if node.op == "Dropout" and node.has(2) and bool(np.any(node.array(2))) and node.number(1) != 0:
        raise node.unsupported("training is not taken", "export the network for inference")
    node.alias()
    if len(node.outputs) > 1 and node.outputs[1]:  # nothing is left out
        kind = np.bool_ if node.opset >= 10 else np.dtype(node.value(0).dtype.numpy_name)
        node.importer.constant(node.outputs[1], np.ones(node.value(0).shape, kind), node.span)
