"""Analyses as passes: shape inference, and which results may overwrite their operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.graph.fusion.in_place import in_place
from polyopt.graph.ir.verify import verify
from polyopt.graph.passes.base import Pass, remark

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Graph


@dataclass(frozen=True)
class InferShapes(Pass):
    """Infers every tensor's shape and type, checks them, and changes nothing. Raises what
    ``verify`` raises."""

    def run(self, graph: Graph) -> Graph:
        """The graph itself."""
        return verify(graph)


@dataclass(frozen=True)
class AnalyseInPlace(Pass):
    """Remarks for each node and operand whether the result may overwrite it, and why; changes
    nothing."""

    def run(self, graph: Graph) -> Graph:
        """The graph itself."""
        for answer in in_place(graph.usual):
            remark(str(answer))
        return graph
