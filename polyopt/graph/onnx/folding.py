"""Computing while reading: what depends on constants and shapes alone."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.graph.onnx.narrow import keep

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from polyopt.graph.importer import Importer
    from polyopt.graph.ir.graph import Array
    from polyopt.source import Span

#: nodes whose results are never constants, though their inputs may be
RANDOM = ("Random", "Bernoulli", "Multinomial")
#: operators of sizes, bounds and moves, of which the evaluator computes what ONNX says. Others that
#: have a converter are left to it: the evaluator has but one version of some, is less exact than
#: their type, or wrong in a form of them; and passes want the integers of a ``DequantizeLinear``
_EVALUATED = {
    "Abs", "Add", "And", "ArgMax", "ArgMin", "Cast", "CastLike", "Ceil", "Clip", "Concat",
    "ConstantOfShape", "CumSum", "DepthToSpace", "Div", "Equal", "Exp", "Expand", "EyeLike",
    "Flatten", "Floor", "Gather", "GatherElements", "GatherND", "Greater", "GreaterOrEqual",
    "Identity", "Less", "LessOrEqual", "Log", "MatMul", "Max", "Mean", "Min", "Mod", "Mul",
    "Neg", "Not", "Or", "Pad", "Pow", "Range", "Reciprocal", "ReduceMax", "ReduceMean",
    "ReduceMin", "ReduceProd", "ReduceSum", "Relu", "Reshape", "Round", "ScatterElements",
    "ScatterND", "Sign", "Slice", "SpaceToDepth", "Split", "Sqrt", "Squeeze", "Sub", "Sum",
    "Tile", "TopK", "Transpose", "Trilu", "Unsqueeze", "Where", "Xor",
}  # fmt: skip
#: elements of an array that is computed while reading
_MOST_FOLDED = 1 << 26
#: elements of an operand that may say how large a result is, such as a shape or repeats
_MOST_SAID = 64


def fold(
    onnx: Any,  # noqa: ANN401
    importer: Importer,
    node: Any,  # noqa: ANN401
    opset: int,
    span: Span,
    taken: Container[str],
) -> bool:
    """Compute a node from what is known; whether that could be done.

    ``taken`` are the operators that have a converter.
    """
    if node.op_type == "Shape":
        shape = importer.values[importer.resolve(node.input[0])].shape
        bounds = {a.name: a.i for a in node.attribute}
        wanted = shape[bounds.get("start", 0) : bounds.get("end", len(shape))]
        importer.constant(node.output[0], np.array(wanted, np.int64), span)
        return True
    if node.op_type == "Size":
        size = importer.values[importer.resolve(node.input[0])].size
        importer.constant(node.output[0], np.array(size, np.int64), span)
        return True
    names = [importer.resolve(name) for name in node.input]
    if node.op_type.startswith(RANDOM) or any(n and n not in importer.known for n in names):
        return False
    if any(a.type in {a.GRAPH, a.GRAPHS} for a in node.attribute):
        return False
    is_empty = any(n and not importer.values[n].size for n in names)
    if node.op_type in taken and node.op_type not in _EVALUATED and not is_empty:
        return False
    fed = {n: importer.known[importer.resolve(n)] for n in node.input if n}
    try:
        known = _inferred(onnx, node, fed, opset)
        if not all(map(_is_small, known)):
            return False
        types = {n: onnx.TypeProto() for n in fed}
        evaluator = onnx.reference.ReferenceEvaluator(_alone(onnx, node, types, {}, opset))
        with warnings.catch_warnings():  # what NumPy says of NaN and overflow is no user's matter
            warnings.simplefilter("ignore")
            results = evaluator.run(None, fed)
    except Exception:  # noqa: BLE001  (the converter finds out what is wrong with it)
        return False
    outputs = [name for name in node.output if name]
    # the evaluator's types are at times wider than what the operator says
    arrays = [np.array(cast("Array", r), _type(onnx, entry), order="C")
              for r, entry in zip(results, known, strict=True)]  # fmt: skip
    if any(a.dtype == object or a.size > _MOST_FOLDED for a in arrays):
        return False
    for name, array in zip(outputs, arrays, strict=True):
        keep(importer, name, array, span)
    return True


def _inferred(onnx: Any, node: Any, fed: Mapping[str, Array], opset: int) -> list[Any]:  # noqa: ANN401
    """What ONNX's own inference says of a node's results, before anything is computed."""
    types = {
        name: onnx.helper.make_tensor_type_proto(
            onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in fed.items()
    }
    said = {name: array for name, array in fed.items() if array.size <= _MOST_SAID}
    model = _alone(onnx, node, types, said, opset)
    return list(onnx.shape_inference.infer_shapes(model, data_prop=True).graph.output)


def _is_small(entry: Any) -> bool:  # noqa: ANN401
    """Whether a result fits into ``_MOST_FOLDED`` elements.

    A file of a few bytes may ask for terabytes: that has to be known before they are made.
    """
    shape = entry.type.tensor_type.shape
    return bool(np.prod([float(d.dim_value) for d in shape.dim]) <= _MOST_FOLDED)


def _type(onnx: Any, entry: Any) -> np.dtype[Any] | None:  # noqa: ANN401
    """The type of a result's elements; nothing where it is not known."""
    kind = entry.type.tensor_type.elem_type
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind)) if kind else None


def _alone(
    onnx: Any,  # noqa: ANN401
    node: Any,  # noqa: ANN401
    types: Mapping[str, Any],
    constants: Mapping[str, Array],
    opset: int,
) -> Any:  # noqa: ANN401
    """A model of one node."""
    graph = onnx.helper.make_graph(
        [node], "one",
        [onnx.helper.make_value_info(name, kind) for name, kind in types.items()],
        [onnx.helper.make_value_info(name, onnx.TypeProto()) for name in node.output if name],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )  # fmt: skip
    domain = onnx.helper.make_opsetid(node.domain, opset)
    return onnx.helper.make_model(graph, opset_imports=[domain])
