"""Dead code and common subexpressions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.graph.passes.base import Mutator, Pass

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Array, Graph, Node


@dataclass(frozen=True)
class RemoveDead(Pass):
    """Drops nodes and constants that no output depends on. Inputs stay: callers give them."""

    def run(self, graph: Graph) -> Graph:
        """The graph of what its outputs need."""
        needed = set(graph.outputs)
        for node in reversed(graph.nodes):
            if node.name in needed:
                needed |= set(node.operands)
        kept = [node for node in graph.nodes if node.name in needed]
        if len(kept) == len(graph.nodes) and needed.issuperset(graph.constants):
            return graph
        return graph.with_nodes(kept)


@dataclass(frozen=True)
class MergeEqual(Pass):
    """Computes once what several nodes compute alike, and keeps equal constants once."""

    def run(self, graph: Graph) -> Graph:
        """The graph with such nodes as one, the first."""
        return _Merger(_equal_constants(graph)).mutate(graph)


def _equal_constants(graph: Graph) -> dict[str, str]:
    """Constants that have the type, shape and bits of an earlier one."""
    seen: dict[object, str] = {}
    result: dict[str, str] = {}
    for name, array in graph.constants.items():
        first = seen.setdefault(_content(array), name)
        if first != name:
            result[name] = first
    return result


def _content(array: Array) -> object:
    return array.dtype.str, array.shape, array.tobytes()


class _Merger(Mutator):
    def __init__(self, equal: dict[str, str]) -> None:
        self.equal = equal
        self.seen: dict[object, str] = {}

    def mutate_node(self, graph: Graph, node: Node) -> None:
        """Keep a node, or let an earlier one stand for it."""
        _ = graph
        inputs = tuple(self.equal.get(name, name) for name in node.inputs)
        first = self.seen.setdefault((node.op, inputs, node.attributes), node.name)
        if first != node.name:
            self.new.renamed[node.name] = first
            return
        changed = inputs != node.inputs
        self.new.nodes.append(replace(node, inputs=inputs) if changed else node)
