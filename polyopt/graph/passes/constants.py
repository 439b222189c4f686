"""Constant folding: what depends on constants alone is computed once, now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.graph.execution.run import run_plainly
from polyopt.graph.ir.graph import Graph
from polyopt.graph.passes.base import Mutator, Pass

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Node


@dataclass(frozen=True)
class FoldConstants(Pass):
    """Runs nodes whose operands are all constants, by the operators' own stages.

    Results of more than ``most_elements`` are left to the network: they would only be stored.
    """

    most_elements: int = 1 << 24

    def run(self, graph: Graph) -> Graph:
        """The graph with such nodes as constants."""
        return _Folder(self.most_elements).mutate(graph)


class _Folder(Mutator):
    def __init__(self, most: int) -> None:
        self.most = most

    def mutate_node(self, graph: Graph, node: Node) -> None:
        """Turn a node into a constant where that can be done."""
        known = {**graph.constants, **self.new.constants}
        is_known = node.operands and all(name in known for name in node.operands)
        if not is_known or graph.values[node.name].size > self.most:
            self.new.nodes.append(node)
            return
        alone = Graph(node.op, (), {n: known[n] for n in node.operands}, (node,), (node.name,))
        (result,) = run_plainly(alone, {})
        self.new.constants[node.name] = result
