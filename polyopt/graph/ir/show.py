"""A graph as text, and the place of a node in it, for errors."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.graph.ir.graph import value_of
from polyopt.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.graph.ir.graph import Graph, Node, Value


def show_graph(graph: Graph) -> str:
    """Inputs, constants, nodes with the types of what they make, outputs."""
    try:
        types: Mapping[str, Value] = graph.values
    except UserError:  # a graph that is wrong prints as well
        types = {}
    lines = [f"graph {graph.name}"]
    lines += [f"  in     {v.name}: {v}" for v in graph.inputs]
    lines += [f"  const  {name}: {value_of(name, a)}" for name, a in graph.constants.items()]
    texts = [str(node) for node in graph.nodes]
    width = min(72, max(map(len, texts), default=0))
    for node, text in zip(graph.nodes, texts, strict=True):
        shown = f"  : {types[node.name]}" if node.name in types else ""
        lines.append(f"  {text:<{width}}{shown}".rstrip())
    lines.append(f"  out    {', '.join(graph.outputs)}")
    lines += [f"  valid  {v.tensor}: {v.count} along axis {v.axis}" for v in graph.lengths]
    return "\n".join(lines)


@lru_cache(maxsize=16)
def _source(graph: Graph) -> Source:
    return Source(graph.name, "\n".join(map(str, graph.nodes)))


def node_span(graph: Graph, node: Node) -> Span:
    """Where a node stands in its graph: its number, as a line of text."""
    source = _source(graph)
    line = next((k for k, n in enumerate(graph.nodes, 1) if n is node), 1)
    return Span(source, line, 1, len(source.line(line)))
