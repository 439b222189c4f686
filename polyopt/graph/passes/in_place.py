"""In-place analysis, as a pass: which results may overwrite what they are computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.graph.fusion.in_place import in_place
from polyopt.graph.passes.base import Pass, remark

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Graph


@dataclass(frozen=True)
class AnalyseInPlace(Pass):
    """Remarks for each node and operand whether the result may overwrite it, and why; changes
    nothing."""

    def run(self, graph: Graph) -> Graph:
        """The graph itself."""
        for answer in in_place(graph.usual):
            remark(str(answer))
        return graph
