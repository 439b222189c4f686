"""Whether a graph is well-formed: names, order, outputs, types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.errors import GraphError
from polyopt.graph.ir.show import node_span

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Graph, ValidLength


@checks_arguments
def verify(graph: Graph) -> Graph:
    """The graph itself, checked.

    Raises ``GraphError`` for a name given twice, a cycle, a node that reads what is not there,
    an output that nothing makes, or operands that do not fit; ``UnsupportedError`` for an unknown
    operator.
    """
    seen: set[str] = set()
    for name in (*(v.name for v in graph.inputs), *graph.constants):
        if name in seen:
            raise GraphError(f"two tensors of {graph.name} are called {name!r}")
        seen.add(name)
    for node in graph.nodes:
        if node.name in seen:
            raise GraphError(f"two tensors are called {node.name!r}", span=node_span(graph, node))
        seen.add(node.name)
    _ = graph.values
    missing = next((name for name in graph.outputs if name not in seen), None)
    if missing is not None:
        raise GraphError(f"the output {missing!r} of {graph.name} is made by nothing")
    if not graph.outputs:
        raise GraphError(f"{graph.name} has no output")
    for length in graph.lengths:
        _check_length(graph, length)
    return graph


def _check_length(graph: Graph, length: ValidLength) -> None:
    """Raises ``GraphError`` for a valid length that is none of an output's."""
    missing = next((n for n in (length.tensor, length.count) if n not in graph.outputs), None)
    if missing is not None:
        raise GraphError(f"{missing!r} has to be an output: it has a valid length, or is one")
    count, rank = graph.values[length.count], len(graph.values[length.tensor].shape)
    if count.shape or not count.dtype.is_integer or not 0 <= length.axis < rank:
        raise GraphError(f"the valid length of {length.tensor!r} along axis {length.axis} is one"
                         f" integer, not {count}")  # fmt: skip
