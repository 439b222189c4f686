"""What ONNX nodes may make of tensors whose size depends on data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyopt.errors import UnsupportedError

if TYPE_CHECKING:
    from polyopt.graph.importer import Importer
    from polyopt.graph.onnx.context import OnnxNode
    from polyopt.source import Span


def need_known_size(importer: Importer, node: Any, span: Span) -> None:  # noqa: ANN401
    """Raises ``UnsupportedError`` where a node asks for a size that depends on data."""
    if node.op_type not in {"Shape", "Size"}:
        return
    name = importer.resolve(node.input[0])
    length = importer.lengths.get(name)
    if length is None:
        return
    if node.op_type == "Shape":
        bounds = {a.name: a.i for a in node.attribute}
        axes = range(len(importer.values[name].shape))
        if length.axis not in axes[bounds.get("start", 0) : bounds.get("end", len(axes))]:
            return
    raise UnsupportedError(
        f"{node.op_type} of {node.input[0]!r}: its size along axis {length.axis} depends on data",
        span=span, hint="end the model before it",
    )  # fmt: skip


def need_lengths(node: OnnxNode) -> None:
    """Raises ``UnsupportedError`` where a node has made something of a size that depends on data
    as if it were known, as from the shape of an operand alone."""
    known = node.importer.lengths
    given = next((name for name in node.inputs if name in known), None)
    if given is None:
        return
    made = [node.importer.resolve(name) for name in node.outputs if name]
    if any(name not in known for name in made):
        raise node.unsupported(f"the size of its input {given!r} depends on data")
