"""When a result may overwrite an operand: by what is read where, and by what is needed later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.graph.fusion.patterns import patterns
from polyopt.graph.operators import get_operator

if TYPE_CHECKING:
    from polyopt.graph.fusion.patterns import Pattern
    from polyopt.graph.ir.graph import Graph, Node


@dataclass(frozen=True)
class InPlace:
    """Whether a node's result may take an operand's memory, and why."""

    node: str
    operand: str
    allowed: bool
    reason: str

    def __str__(self) -> str:
        """``relu may overwrite conv: ...``."""
        verb = "may" if self.allowed else "must not"
        return f"{self.node} {verb} overwrite {self.operand}: {self.reason}"


@checks_arguments
def in_place(graph: Graph) -> tuple[InPlace, ...]:
    """One answer for each node and computed or given operand, in the graph's order."""
    position = {node.name: k for k, node in enumerate(graph.nodes)}
    found: list[InPlace] = []
    for node in graph.nodes:
        if get_operator(node.op).is_view:
            continue
        reads = patterns(graph, node)
        for name in dict.fromkeys(node.operands):
            if name in graph.constants:
                continue
            reason = _forbidden(graph, node, name, reads[name], position)
            found.append(
                InPlace(node.name, name, not reason, reason or _allowed(graph, node, name))
            )
    return tuple(found)


def _allowed(graph: Graph, node: Node, operand: str) -> str:
    saved = graph.values[operand].bytes
    return (
        f"each result reads {operand} only at its own place, and nothing reads {operand} after"
        f" {node.name}; {saved:,} bytes less"
    )


def _forbidden(
    graph: Graph, node: Node, operand: str, pattern: Pattern, position: dict[str, int]
) -> str:
    """Why a result must not overwrite an operand; "" where it may."""
    result, given = graph.values[node.name], graph.values[operand]
    if operand not in graph.makers:
        return "it is the caller's array"
    if (result.shape, result.dtype) != (given.shape, given.dtype):
        return f"{result} does not have the layout of {given}"
    if pattern.clash:
        one, other = (", ".join(map(str, index)) for index in pattern.clash)
        return (
            f"{node.name}[{one}] reads {operand}[{other}], where {node.name}[{other}] would stand"
        )
    later = _needed_later(graph, node, operand, position)
    return f"{later} needs it afterwards" if later else ""


def _needed_later(graph: Graph, node: Node, operand: str, position: dict[str, int]) -> str:
    """What needs a tensor, or a view of it, after a node has run; "" for nothing."""
    if operand in graph.outputs:
        return "the caller"
    for reader in graph.readers[operand]:
        if get_operator(reader.op).is_view:
            later = _needed_later(graph, node, reader.name, position)
            if later:
                return later
        elif position[reader.name] > position[node.name]:
            return reader.name
    return ""
