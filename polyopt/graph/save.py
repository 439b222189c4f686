"""Graphs as ONNX files: what passes and quantisation made, for other tools to run.

Operators that are ONNX's own become its nodes of the same name; some become a few. What the
computation in blocks is made of has no such nodes: a graph is saved before its layout is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path  # noqa: TC003  (arguments are checked by it)
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.arguments import checks_arguments
from polyopt.errors import GraphError, MissingExtraError, UnsupportedError
from polyopt.extras import install_command
from polyopt.graph.ir.graph import array_dtype
from polyopt.graph.ir.open import Open
from polyopt.graph.ir.verify import verify
from polyopt.graph.operators import get_operator
from polyopt.ir.types import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.graph.ir.graph import Array, Graph, Node, Value

#: the opset and the version of the format that are written
OPSET, _FORMAT = 21, 10


@checks_arguments
def save_onnx(graph: Graph, path: str | Path) -> None:
    """Write a graph as an ONNX file of opset 21, with the same names of tensors.

    A first dimension that is left open stays so. Raises ``UnsupportedError`` for operators that
    have no nodes of ONNX, all of them at once; ``GraphError`` where the file cannot be written;
    ``MissingExtraError`` without ``onnx``.
    """
    try:
        onnx = import_module("onnx")
    except ImportError:
        hint = install_command("nn")
        raise MissingExtraError("writing ONNX needs onnx", hint=hint) from None
    missing = sorted({node.op for node in verify(graph).nodes} - _WRITERS.keys())
    if missing:
        raise UnsupportedError(
            f"{graph.name} has operators that ONNX has no nodes for: {', '.join(missing)}",
            hint="save the graph before passes choose its layout",
        )
    writer = _Writer(onnx, graph)
    for node in graph.nodes:
        _WRITERS[node.op](writer, _complete(node))
    try:
        onnx.save(writer.model(), str(path))
    except OSError as error:
        msg = f"{path} cannot be written: {error.strerror or error}"
        raise GraphError(msg) from None


def _complete(node: Node) -> Node:
    """The node with all attributes that it leaves to its operator, as ONNX may have others."""
    usual = get_operator(node.op).defaults
    return node.with_attributes(**{**usual, **dict(node.attributes)})


@dataclass
class _Writer:
    """The nodes and constants of a file in the making."""

    onnx: Any
    graph: Graph
    nodes: list[Any] = field(default_factory=list[Any])
    constants: dict[str, Array] = field(default_factory=dict[str, "Array"])

    def node(self, kind: str, inputs: Sequence[str], result: str, /, **options: object) -> str:
        """Add a node; the name of its result."""
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        name = result if result in self.graph.makers else ""
        self.nodes.append(self.onnx.helper.make_node(kind, given, [result], name, **options))
        return result

    def constant(self, base: str, array: object) -> str:
        """Add a constant; its name."""
        name = self.fresh(base)
        self.constants[name] = np.asarray(array)
        return name

    def numbers(self, base: str, given: object) -> str:
        """A list of integers as a constant, with -1 for the dimension that is left open."""
        listed = [-1 if isinstance(n, Open) else int(n) for n in cast("Sequence[int]", given)]
        return self.constant(base, np.array(listed, np.int64))

    def fresh(self, base: str) -> str:
        """A name that no tensor has."""
        made = {name for node in self.nodes for name in node.output}
        name, number = base, 2
        while name in made or name in self.constants or name in self.graph.values:
            name, number = f"{base}_{number}", number + 1
        return name

    def kind(self, value: Value) -> int:
        """The number of a tensor's element type."""
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(array_dtype(value.dtype)))

    def info(self, value: Value) -> Any:  # noqa: ANN401
        """Name, type and shape of an input or output."""
        shape = [extent.name if isinstance(extent, Open) else extent for extent in value.shape]
        return self.onnx.helper.make_tensor_value_info(value.name, self.kind(value), shape)

    def model(self) -> Any:  # noqa: ANN401
        """The model."""
        helper, graph = self.onnx.helper, self.graph
        used = {name for node in self.nodes for name in node.input} | {*graph.outputs}
        arrays = {**{n: a for n, a in graph.constants.items() if n in used}, **self.constants}
        made = helper.make_graph(
            self.nodes, graph.name, [self.info(value) for value in graph.inputs],
            [self.info(graph.values[name]) for name in graph.outputs],
            [self.onnx.numpy_helper.from_array(a, name) for name, a in arrays.items()],
        )  # fmt: skip
        opset = helper.make_opsetid("", OPSET)
        return helper.make_model(made, opset_imports=[opset], ir_version=_FORMAT,
                                 producer_name="polyopt")  # fmt: skip


# -- operators ------------------------------------------------------------------------------------


def _plain(kind: str, **names: str) -> Callable[[_Writer, Node], None]:
    """A node of the same operands, and of attributes under ONNX's names."""

    def write(writer: _Writer, node: Node) -> None:
        options = {names.get(name, name): value for name, value in node.attributes}
        writer.node(kind, node.inputs, node.name, **options)

    return write


def _window(kind: str) -> Callable[[_Writer, Node], None]:
    """Convolutions and pooling: the extent of the kernel is called otherwise."""

    def write(writer: _Writer, node: Node) -> None:
        options = dict(node.attributes)
        if options.pop("inner", 0):
            msg = f"{node.name} pools blocks of channels, which ONNX does not"
            raise UnsupportedError(msg, hint="save the graph before passes choose its layout")
        options.pop("keep_nan", 0)  # ONNX does not say what is of NaN
        if "kernel" in options:
            options["kernel_shape"] = options.pop("kernel")
        writer.node(kind, node.inputs, node.name, **options)

    return write


def _listed(kind: str, attribute: str, **names: str) -> Callable[[_Writer, Node], None]:
    """A node with a list of integers as its second operand."""

    def write(writer: _Writer, node: Node) -> None:
        options = dict(node.attributes)
        numbers = cast("Sequence[int]", options.pop(attribute))
        if kind == "Expand" and any(isinstance(n, Open) for n in numbers):
            raise UnsupportedError(f"{node.name} expands to a size that is left open",
                                   hint="save the model for one size: sizes={...}")  # fmt: skip
        second = writer.numbers(f"{node.name}_{attribute}", numbers)
        if kind.startswith("Reduce") and not numbers:
            options["noop_with_empty_axes"] = 1
        given = {names.get(name, name): value for name, value in options.items()}
        writer.node(kind, [*node.inputs, second], node.name, **given)

    return write


def _cast(writer: _Writer, node: Node) -> None:
    kind = array_dtype(ELEMENTS[cast("str", node["to"])])
    to = writer.onnx.helper.np_dtype_to_tensor_dtype(kind)
    writer.node("Cast", node.inputs, node.name, to=int(to))


def _clip(writer: _Writer, node: Node) -> None:
    kind = array_dtype(writer.graph.values[node.name].dtype)
    options = dict(node.attributes)
    ends = [
        writer.constant(f"{node.name}_{end}", np.array(options[end], kind))
        if end in options
        else ""
        for end in ("low", "high")
    ]
    writer.node("Clip", [*node.inputs, *ends], node.name)


def _pad(writer: _Writer, node: Node) -> None:
    options = dict(node.attributes)
    pads = writer.numbers(f"{node.name}_pads", options["pads"])
    kind = array_dtype(writer.graph.values[node.name].dtype)
    mode = str(options.get("mode", "constant"))
    value = writer.constant(f"{node.name}_value", np.array(options.get("value", 0), kind))
    inputs = [*node.inputs, pads, value if mode == "constant" else ""]
    writer.node("Pad", inputs, node.name, mode=mode)


def _slice(writer: _Writer, node: Node) -> None:
    options = {name: cast("Sequence[int]", value) for name, value in node.attributes}
    starts, steps = options["starts"], options["steps"]
    least = int(np.iinfo(np.int64).min)
    # an end before the first element is none that counts from the last one
    ends = [
        (least if step < 0 else int(np.iinfo(np.int64).max)) if isinstance(n, Open)
        else least if (end := start + step * n) < 0 else end
        for start, step, n in zip(starts, steps, options["shape"], strict=True)
    ]  # fmt: skip
    axes = range(len(starts))
    lists = [writer.numbers(f"{node.name}_{name}", numbers)
             for name, numbers in (("starts", starts), ("ends", ends), ("axes", axes),
                                   ("steps", steps))]  # fmt: skip
    writer.node("Slice", [*node.inputs, *lists], node.name)


def _quantize(writer: _Writer, node: Node) -> None:
    options = _linear(writer, node)
    inputs, place = options.pop("inputs"), options
    kind = array_dtype(writer.graph.values[node.name].dtype)
    to = int(writer.onnx.helper.np_dtype_to_tensor_dtype(kind))
    writer.node("QuantizeLinear", inputs, node.name, output_dtype=to, **place)


def _dequantize(writer: _Writer, node: Node) -> None:
    options = _linear(writer, node)
    inputs, place = options.pop("inputs"), options
    writer.node("DequantizeLinear", inputs, node.name, **place)


def _linear(writer: _Writer, node: Node) -> dict[str, Any]:
    """Operands with scales and zero points as ONNX has them: one, or those along an axis."""
    values, options = writer.graph.values, dict(node.attributes)
    if block := options.get("block", 0):
        return {"inputs": list(node.inputs), "axis": options["axis"], "block_size": block}
    rank = len(values[node.inputs[0]].shape)
    shape = values[node.inputs[1]].shape
    wide = (1,) * (rank - len(shape)) + shape
    along = [d for d, extent in enumerate(wide) if extent != 1]
    if len(along) > 1:
        msg = f"{node.name} has scales along {len(along)} axes, ONNX takes them along one"
        raise UnsupportedError(msg)
    flat = (-1,) if along else ()
    inputs = [node.inputs[0], *(_reshaped(writer, name, flat) for name in node.inputs[1:])]
    return {"inputs": inputs, "axis": along[0]} if along else {"inputs": inputs}


def _reshaped(writer: _Writer, name: str, shape: tuple[int, ...]) -> str:
    """A scale or zero point in another shape; "" where there is none."""
    known = writer.graph.constants.get(name)
    if not name or len(writer.graph.values[name].shape) == len(shape):
        return name
    if known is not None:
        return writer.constant(f"{name}_flat", known.reshape(shape))
    wanted = writer.numbers(f"{name}_shape", shape)
    return writer.node("Reshape", [name, wanted], writer.fresh(f"{name}_flat"))


#: operators that have the same operands and attributes in ONNX
_SAME: Mapping[str, str] = {
    "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "add": "Add", "asin": "Asin",
    "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh", "ceil": "Ceil", "celu": "Celu",
    "concat": "Concat", "cos": "Cos", "cosh": "Cosh", "div": "Div", "einsum": "Einsum",
    "elu": "Elu", "equal": "Equal", "erf": "Erf", "exp": "Exp", "floor": "Floor",
    "gelu": "Gelu", "greater": "Greater", "greater_equal": "GreaterOrEqual",
    "hard_sigmoid": "HardSigmoid", "hardswish": "HardSwish", "is_nan": "IsNaN",
    "leaky_relu": "LeakyRelu", "less": "Less", "less_equal": "LessOrEqual", "log": "Log",
    "log_softmax": "LogSoftmax", "logical_and": "And", "logical_not": "Not",
    "logical_or": "Or", "logical_xor": "Xor", "matmul": "MatMul",
    "maximum": "Max", "minimum": "Min", "mish": "Mish", "mul": "Mul",
    "neg": "Neg", "power": "Pow", "prelu": "PRelu", "reciprocal": "Reciprocal",
    "relu": "Relu", "rint": "Round", "selu": "Selu", "sigmoid": "Sigmoid", "sign": "Sign",
    "sin": "Sin", "sinh": "Sinh", "softmax": "Softmax", "softplus": "Softplus",
    "softsign": "Softsign", "sqrt": "Sqrt", "sub": "Sub", "tan": "Tan", "tanh": "Tanh",
    "thresholded_relu": "ThresholdedRelu", "transpose": "Transpose", "where": "Where",
}  # fmt: skip
#: operator -> what writes its nodes
_WRITERS: Mapping[str, Callable[[_Writer, Node], None]] = {
    **{op: _plain(kind) for op, kind in _SAME.items()},
    "gemm": _plain("Gemm", trans_a="transA", trans_b="transB"),
    "conv": _window("Conv"),
    "max_pool": _window("MaxPool"),
    "avg_pool": _window("AveragePool"),
    "batch_norm": _plain("BatchNormalization"),
    "reshape": _listed("Reshape", "shape"),
    "expand": _listed("Expand", "shape"),
    "tile": _listed("Tile", "repeats"),
    **{f"reduce_{name}": _listed(f"Reduce{kind}", "axes") for name, kind in (
        ("max", "Max"), ("mean", "Mean"), ("min", "Min"), ("prod", "Prod"), ("sum", "Sum"),
        ("l1", "L1"), ("l2", "L2"), ("log_sum", "LogSum"), ("log_sum_exp", "LogSumExp"),
        ("sum_square", "SumSquare"),
    )},
    "cast": _cast,
    "clip": _clip,
    "pad": _pad,
    "slice": _slice,
    "quantize": _quantize,
    "dequantize": _dequantize,
}  # fmt: skip
