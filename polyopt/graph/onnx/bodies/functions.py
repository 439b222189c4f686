"""Operators that ONNX defines by a function body: the body's nodes take the node's place.

Taken so are operators whose body is as good as what would be written by hand, as each of its nodes
is a stage that may be fused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import GraphError, UnsupportedError

if TYPE_CHECKING:
    from polyopt.graph.importer import Importer
    from polyopt.source import Span

#: operators that are put in as their bodies
EXPANDED = (
    "AffineGrid", "Attention", "BlackmanWindow", "CausalConvWithState", "CenterCropPad",
    "FlexAttention", "HammingWindow", "HannWindow", "LinearAttention", "NegativeLogLikelihoodLoss",
    "RotaryEmbedding", "SoftmaxCrossEntropyLoss", "SwiGLU",
)  # fmt: skip
#: the domains of such operators that are not ONNX's first
_DOMAINS = {"FlexAttention": "ai.onnx.preview"}
#: the domain of a body while it is put in
_DOMAIN = "polyopt.body"


def is_expanded(node: Any) -> bool:  # noqa: ANN401
    """Whether a node's body is put in."""
    domain = "" if node.domain == "ai.onnx" else node.domain
    return node.op_type in EXPANDED and domain == _DOMAINS.get(node.op_type, "")


def expanded(
    onnx: Any,  # noqa: ANN401
    importer: Importer,
    node: Any,  # noqa: ANN401
    opset: int,
    span: Span,
) -> tuple[Any, int]:
    """A model of the nodes of a node's body, with names that are not taken, and its opset.

    Raises ``UnsupportedError`` where ONNX has no body for the node, ``GraphError`` for a node from
    which ONNX makes none.
    """
    if node.op_type == "AffineGrid":
        _need_corners(onnx, importer, node, span)
    schema = onnx.defs.get_schema(node.op_type, opset, node.domain)
    try:
        body, version = _body(onnx, importer, schema, node, opset)
        model = onnx.inliner.inline_local_functions(_calling(onnx, schema, body, node, version))
    except Exception as error:  # noqa: BLE001  (bindings raise what C++ raises)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise GraphError(f"{node.op_type} has no body that can be put in", span=span,
                         notes=[reason]) from None  # fmt: skip
    if not model.graph.node:
        raise UnsupportedError(f"ONNX has no body for this form of {node.op_type}", span=span)
    kept = {*node.input, *node.output}
    prefix = free_prefix(importer, node.output[0])
    names = {name: f"{prefix}{name}" for name in made_names(model.graph) - kept}
    rename(model.graph, names)
    return model, version


def _need_corners(onnx: Any, importer: Importer, node: Any, span: Span) -> None:  # noqa: ANN401
    """Raises ``UnsupportedError`` for a grid of one point between two corners.

    ONNX's body divides 0 by 0 there; its evaluator, ONNX Runtime and PyTorch give -1, 1 and 0.
    """
    corners = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    size = importer.known.get(importer.resolve(node.input[1]))
    if corners.get("align_corners") and size is not None and 1 in size[2:]:
        raise UnsupportedError(
            "AffineGrid with align_corners=1 of one point along an axis", span=span,
            notes=["implementations differ in where it lies, and ONNX's definition has NaN"],
            hint="align_corners=0 has its middle",
        )  # fmt: skip


def _body(onnx: Any, importer: Importer, schema: Any, node: Any, opset: int) -> tuple[Any, int]:  # noqa: ANN401
    """The function of a node, for the types of its operands, and the opset of its nodes."""
    body = onnx.FunctionProto()
    if schema.has_function:
        version = max(v for v in schema.function_opset_versions if v <= opset)
        body.ParseFromString(schema.get_function_with_opset_version(version))
        return body, version
    version = max(v for v in schema.context_dependent_function_opset_versions if v <= opset)
    types = [_type(onnx, importer, name).SerializeToString() for name in node.input]
    text = schema.get_context_dependent_function_with_opset_version(
        version, node.SerializeToString(), types
    )
    body.ParseFromString(text)
    if node.domain in {"", "ai.onnx"}:
        return body, version
    newest = onnx.defs.onnx_opset_version()
    return body, next((e.version for e in body.opset_import if not e.domain), newest)


def _type(onnx: Any, importer: Importer, name: str) -> Any:  # noqa: ANN401
    if not name:
        return onnx.TypeProto()
    value = importer.values[importer.resolve(name)]
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(value.dtype.numpy_name))
    return onnx.helper.make_tensor_type_proto(kind, value.shape)


def _calling(onnx: Any, schema: Any, body: Any, node: Any, version: int) -> Any:  # noqa: ANN401
    """A model of one call of the body, all attributes given."""
    call = onnx.NodeProto()
    call.CopyFrom(node)
    call.domain = body.domain = _DOMAIN
    body.name = node.op_type
    given = {attribute.name for attribute in node.attribute}
    usual = [a.default_value for name, a in schema.attributes.items() if name not in given]
    call.attribute.extend([value for value in usual if value.name])
    nothing = onnx.TypeProto()
    graph = onnx.helper.make_graph(
        [call], "body",
        [onnx.helper.make_value_info(name, nothing) for name in dict.fromkeys(node.input) if name],
        [onnx.helper.make_value_info(name, nothing) for name in node.output if name],
    )  # fmt: skip
    opsets = [onnx.helper.make_opsetid("", version), onnx.helper.make_opsetid(_DOMAIN, 1)]
    return onnx.helper.make_model(graph, functions=[body], opset_imports=opsets)


def free_prefix(importer: Importer, base: str) -> str:
    """The beginning of no tensor's name, for names of a body."""
    prefix, number = f"{base}_", 2
    while any(name.startswith(prefix) for name in (*importer.values, *importer.reserved)):
        prefix, number = f"{base}_{number}_", number + 1
    return prefix


def made_names(graph: Any) -> set[str]:  # noqa: ANN401
    """Names of all tensors that a graph and those inside it make; a body has each once."""
    found = {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        found |= {name for name in node.output if name}
        found |= {name for a in node.attribute if a.HasField("g") for name in made_names(a.g)}
    return found


def rename(graph: Any, names: dict[str, str]) -> None:  # noqa: ANN401
    """Give tensors their new names, in graphs inside as well."""
    for entry in (*graph.initializer, *graph.output):
        entry.name = names.get(entry.name, entry.name)
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                rename(attribute.g, names)
