"""Shape inference, as a pass: every tensor's shape and type, and whether all fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.graph.ir.verify import verify
from polyopt.graph.passes.base import Pass

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Graph


@dataclass(frozen=True)
class InferShapes(Pass):
    """Infers and checks, and changes nothing. Raises what ``verify`` raises."""

    def run(self, graph: Graph) -> Graph:
        """The graph itself."""
        return verify(graph)
