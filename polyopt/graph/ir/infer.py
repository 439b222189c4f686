"""Shapes and types of every tensor, from inputs and constants, by each operator's own rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.errors import GraphError, PolyoptError, UnsupportedError
from polyopt.graph.ir.graph import Value, value_of
from polyopt.graph.ir.open import at, merged_values
from polyopt.graph.ir.show import node_span
from polyopt.graph.operators import find_operator, get_operator, supported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.graph.ir.graph import Graph, Node

#: a tensor of more elements is refused: its bytes would overflow the sizes of C
_MOST_ELEMENTS = 1 << 40


def infer(graph: Graph) -> Mapping[str, Value]:
    """Every tensor of a graph by name.

    Raises ``GraphError`` for nodes that read what is not there yet or whose inputs do not fit,
    ``UnsupportedError`` for an unknown operator, and for what depends on a size that is left open.
    """
    if graph.open:
        return merged_values(graph.open, lambda numbers: _inferred(at(graph, numbers)))
    return _inferred(graph)


def _inferred(graph: Graph) -> Mapping[str, Value]:
    known: dict[str, Value] = {}
    for value in graph.inputs:
        known[value.name] = value
    for name, array in graph.constants.items():
        known[name] = value_of(name, array)
    for node in graph.nodes:
        known[node.name] = _result(graph, node, known)
    return known


def _result(graph: Graph, node: Node, known: Mapping[str, Value]) -> Value:
    missing = next((name for name in node.operands if name not in known), None)
    if missing is not None:
        later = any(other.name == missing for other in graph.nodes)
        reason = "comes later, or depends on this node" if later else "does not exist"
        raise GraphError(f"{node.name} reads {missing!r}, which {reason}",
                         span=node_span(graph, node))  # fmt: skip
    if find_operator(node.op) is None:
        raise UnsupportedError(
            f"there is no operator {node.op!r}",
            span=node_span(graph, node),
            hint="there are: " + ", ".join(supported()),
        )
    try:
        return typed(node, known)
    except PolyoptError as error:
        shown = error.diagnostic
        given = [f"{name} is {known[name]}" for name in node.operands]
        raise type(error)(shown.message, span=node_span(graph, node),
                          notes=[*shown.notes, *given], hint=shown.hint) from None  # fmt: skip


def typed(node: Node, known: Mapping[str, Value]) -> Value:
    """Shape and type of what a node makes of known tensors.

    Raises what its operator's rule raises, ``GraphError`` for a result without elements, and
    ``InvalidOptionError`` for an unknown operator.
    """
    inputs = [known[name] if name else None for name in node.inputs]
    found = get_operator(node.op).infer(inputs, dict(node.attributes))
    value = Value(node.name, found.shape, found.dtype)
    if min(value.shape, default=1) < 1 or value.size > _MOST_ELEMENTS:
        raise GraphError(f"{node.name} would have the shape {list(value.shape)}")
    return value
