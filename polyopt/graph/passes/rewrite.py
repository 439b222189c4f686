"""Rewriting by patterns: what to look for, and what to put in its place."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph import ir
from polyopt.graph.passes.base import Builder, Mutator, Pass, Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.graph.ir import Array, Graph

__all__ = ["Constant", "Match", "Mutator", "Node", "Pass", "Rewrite", "Tensor", "Visitor"]


@dataclass(frozen=True)
class Tensor:
    """Matches any tensor; the same name in a pattern has to be the same tensor."""

    name: str


@dataclass(frozen=True)
class Constant:
    """Matches a constant; with ``value``, one whose elements all equal it (to 1e-4 relative)."""

    name: str = ""
    value: float | None = None


@dataclass(frozen=True)
class Node:
    """Matches a node of an operator whose operands match.

    ``either`` also tries two operands in the other order; ``rest`` lets a node have fewer operands
    than the pattern. ``name`` is what the match calls the node.
    """

    op: str
    inputs: tuple[Tensor | Constant | Node, ...]
    name: str = ""
    either: bool = False


Shape = Tensor | Constant | Node


@dataclass(frozen=True)
class Match:
    """Where a pattern was found: its tensors and nodes by their names in the pattern."""

    graph: Graph
    root: ir.Node
    tensors: Mapping[str, str]
    nodes: Mapping[str, ir.Node]
    #: all matched nodes but the root
    inner: tuple[ir.Node, ...]

    def array(self, name: str) -> Array:
        """The value of a matched constant."""
        return self.graph.constants[self.tensors[name]]


@dataclass(frozen=True)
class Rewrite(Pass):
    """Base of passes that replace what matches ``pattern``.

    A match whose inner nodes are needed elsewhere is left alone: it would have to be computed
    twice. ``is_cheap`` may say that this is worth it; then the inner nodes stay for the others.
    """

    @property
    @abstractmethod
    def pattern(self) -> Node:
        """What to look for; its outermost node is the one that is replaced."""

    @abstractmethod
    def replace(self, match: Match, new: Builder) -> bool:
        """Put the replacement into ``new``, its last node named ``match.root.name``.

        Returns whether it did; ``False`` leaves the match as it is.
        """

    def is_cheap(self, match: Match) -> bool:
        """Whether inner nodes that others need may be computed once more."""
        _ = match
        return False

    def run(self, graph: Graph) -> Graph:
        """Replace every match, from the inputs on; again until nothing matches."""
        while True:
            changed = self._once(graph)
            if changed is graph:
                return graph
            graph = changed

    def _once(self, graph: Graph) -> Graph:
        new = Builder(graph)
        gone: set[str] = set()
        changed = False
        for node in graph.nodes:
            found = find(graph, node, self.pattern)
            if found is None or gone & {n.name for n in (*found.inner, node)}:
                new.nodes.append(node)
                continue
            shared = _is_shared(found)
            if (shared and not self.is_cheap(found)) or not self.replace(found, new):
                new.nodes.append(node)
                continue
            changed = True
            gone |= {node.name} | (set() if shared else {n.name for n in found.inner})
        if not changed:
            return graph
        new.nodes = [n for n in new.nodes if n.name not in gone or n not in graph.nodes]
        return new.built()


def find(graph: Graph, node: ir.Node, pattern: Node) -> Match | None:
    """The match of a pattern with a node as its outermost, if there is one."""
    for state in _matches(graph, node.name, pattern, _State()):
        inner = tuple(n for n in state.found if n is not node)
        return Match(graph, node, dict(state.tensors), dict(state.nodes), inner)
    return None


@dataclass(frozen=True)
class _State:
    tensors: Mapping[str, str] = field(default_factory=dict[str, str])
    nodes: Mapping[str, ir.Node] = field(default_factory=dict[str, ir.Node])
    found: tuple[ir.Node, ...] = ()


def _matches(graph: Graph, name: str, shape: Shape, state: _State) -> Iterator[_State]:
    """Every way in which a tensor matches part of a pattern."""
    match shape:
        case Tensor():
            yield from _bound(shape.name, name, state)
        case Constant():
            if name in graph.constants and _equals(graph.constants[name], shape.value):
                yield from _bound(shape.name, name, state)
        case Node():
            node = graph.makers.get(name)
            if node is None or node.op != shape.op or len(node.inputs) > len(shape.inputs):
                return
            nodes = {**state.nodes, shape.name: node} if shape.name else state.nodes
            start = _State(state.tensors, nodes, (*state.found, node))
            orders = [node.inputs]
            if shape.either and len(node.inputs) == 2:
                orders.append(node.inputs[::-1])
            for order in orders:
                yield from _all_match(graph, order, shape.inputs, start)


def _all_match(
    graph: Graph, names: tuple[str, ...], shapes: tuple[Shape, ...], state: _State
) -> Iterator[_State]:
    """Every way in which operands match; what the node leaves out, the pattern may not need."""
    if not names:
        if all(isinstance(s, Constant) and s.value is None for s in shapes):
            yield state
        return
    for further in _matches(graph, names[0], shapes[0], state):
        yield from _all_match(graph, names[1:], shapes[1:], further)


def _bound(pattern: str, name: str, state: _State) -> Iterator[_State]:
    known = state.tensors.get(pattern) if pattern else None
    if known is not None and known != name:
        return
    tensors = {**state.tensors, pattern: name} if pattern else state.tensors
    yield _State(tensors, state.nodes, state.found)


def _equals(array: Array, value: float | None) -> bool:
    return value is None or bool(np.allclose(array, value, rtol=1e-4, atol=1e-12))


def _is_shared(found: Match) -> bool:
    """Whether something outside the match needs one of its inner nodes."""
    inside = {n.name for n in found.inner} | {found.root.name}
    return any(
        n.name in found.graph.outputs
        or any(r.name not in inside for r in found.graph.readers[n.name])
        for n in found.inner
    )
