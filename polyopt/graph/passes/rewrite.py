"""Rewriting by patterns: what to look for, and what to put in its place."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.ir import graph as ir
from polyopt.graph.operators import get_operator
from polyopt.graph.passes.base import Builder, Mutator, Pass, Visitor, remark

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.graph.ir.graph import Array, Graph

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

    ``either`` also tries two operands in the other order; ``forms`` also takes operators that are
    forms of this one, as ``conv_blocked`` is of ``conv``. Constants at the end of the pattern may
    be missing. ``name`` is what the match calls the node.
    """

    op: str
    inputs: tuple[Tensor | Constant | Node, ...]
    name: str = ""
    either: bool = False
    forms: bool = False


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

    @property
    def needed_elsewhere(self) -> str:
        """An inner node that something outside the match needs, and what: ``c, which s reads
        too``; "" where there is none."""
        inside = {n.name for n in self.inner} | {self.root.name}
        for node in self.inner:
            others = [r.name for r in self.graph.readers[node.name] if r.name not in inside]
            if others:
                return f"{node.name}, which {others[0]} reads too"
            if node.name in self.graph.outputs:
                return f"{node.name}, which is an output"
        return ""


@dataclass(frozen=True)
class Rewrite(Pass):
    """Base of passes that replace what matches ``pattern``.

    A match whose inner nodes are needed elsewhere is left alone: they would have to be computed
    twice. ``is_cheap`` may say that this is worth it; then the inner nodes stay for the others.
    The manager's report says either.
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
            shared = found.needed_elsewhere
            cheap = bool(shared) and self.is_cheap(found)
            if shared and not cheap:
                remark(f"{node.name} is left as it is: it would compute again {shared}")
            if (shared and not cheap) or not self.replace(found, new):
                new.nodes.append(node)
                continue
            if cheap:
                remark(f"{node.name} computes again {shared}: cheaper than to read it")
            changed = True
            gone |= {node.name} | (set() if shared else {n.name for n in found.inner})
        if not changed:
            return graph
        new.nodes = [n for n in new.nodes if n.name not in gone or n not in graph.nodes]
        return new.built()


def find(graph: Graph, node: ir.Node, pattern: Node) -> Match | None:
    """The first match of a pattern with a node as its outermost, if there is one."""
    return next(find_all(graph, node, pattern), None)


def find_all(graph: Graph, node: ir.Node, pattern: Node) -> Iterator[Match]:
    """Every match of a pattern with a node as its outermost."""
    for state in _matches(graph, node.name, pattern, _State()):
        inner = tuple(n for n in state.found if n is not node)
        yield Match(graph, node, dict(state.tensors), dict(state.nodes), inner)


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
            if node is None or len(node.inputs) > len(shape.inputs) or not _is_of(node, shape):
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


def _is_of(node: ir.Node, shape: Node) -> bool:
    """Whether a node is of the pattern's operator, or of a form of it where that is asked."""
    return node.op == shape.op or (shape.forms and get_operator(node.op).form_of == shape.op)
