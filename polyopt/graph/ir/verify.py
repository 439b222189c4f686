"""Whether a graph is well-formed: names, order, outputs, types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.errors import GraphError
from polyopt.graph.ir.show import node_span

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Graph


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
    return graph
