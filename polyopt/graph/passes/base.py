"""What a pass is, and how one walks over a graph or makes another of it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from polyopt.graph.ir.graph import Node, attributes

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from polyopt.graph.ir.graph import Array, Attribute, Graph

#: where remarks of the pass that runs go; ``None`` where nobody collects them
_REMARKS: ContextVar[dict[str, None] | None] = ContextVar("remarks", default=None)


def remark(text: str) -> None:
    """Say something in the manager's report about the pass that runs, such as what it left alone
    and why. The same is said once."""
    found = _REMARKS.get()
    if found is not None:
        found[text] = None


@contextmanager
def collected_remarks() -> Generator[dict[str, None]]:
    """What passes remark within, as keys in their order."""
    found: dict[str, None] = {}
    token = _REMARKS.set(found)
    try:
        yield found
    finally:
        _REMARKS.reset(token)


@dataclass(frozen=True)
class Pass(ABC):
    """A rewriting of graphs. Its fields are its options; ``run`` changes nothing it is given."""

    @property
    def name(self) -> str:
        """The class's name in small letters: ``fold_batch_norm``."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(self).__name__).lower()

    @abstractmethod
    def run(self, graph: Graph) -> Graph:
        """The rewritten graph; the same object where there is nothing to do."""


class Visitor:
    """Walks over a graph: ``visit_conv`` gets the nodes of ``conv``, ``visit_node`` all others."""

    def visit(self, graph: Graph) -> None:
        """Visit every node in order."""
        for node in graph.nodes:
            method = getattr(self, f"visit_{node.op}", self.visit_node)
            method(graph, node)

    def visit_node(self, graph: Graph, node: Node) -> None:
        """Called for nodes whose operator has no method of its own."""


@dataclass
class Builder:
    """The nodes and constants of a graph in the making."""

    graph: Graph
    nodes: list[Node] = field(default_factory=list[Node])
    constants: dict[str, Array] = field(default_factory=dict[str, "Array"])
    #: tensors that others stand for now
    renamed: dict[str, str] = field(default_factory=dict[str, str])
    taken: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        self.taken |= set(self.graph.names)

    def node(self, name: str, op: str, inputs: Sequence[str], **options: Attribute) -> str:
        """Add a node; the name of its tensor. Inputs may be names that were renamed."""
        self.nodes.append(Node(name, op, self.current(inputs), attributes(**options)))
        return name

    def constant(self, base: str, array: Array) -> str:
        """Add a constant; its name."""
        name = self.fresh(base)
        self.constants[name] = array
        return name

    def fresh(self, base: str) -> str:
        """A name that is not taken."""
        name, number = base, 2
        while name in self.taken:
            name, number = f"{base}_{number}", number + 1
        self.taken.add(name)
        return name

    def current(self, names: Sequence[str]) -> tuple[str, ...]:
        """Names with renamings applied."""
        return tuple(self.renamed.get(name, name) for name in names)

    def built(self) -> Graph:
        """The graph, without constants that nothing reads."""
        base = self.graph.with_constants(**self.constants) if self.constants else self.graph
        outputs = self.current(self.graph.outputs)
        lengths = tuple(
            replace(each, tensor=self.renamed.get(each.tensor, each.tensor),
                    count=self.renamed.get(each.count, each.count))
            for each in self.graph.lengths
        )  # fmt: skip
        return replace(base, outputs=outputs, lengths=lengths).with_nodes(self.nodes)


class Mutator:
    """Makes a graph from another, node by node.

    ``mutate_conv`` gets the nodes of ``conv``, ``mutate_node`` all others. Each puts what it wants
    into ``new``; a node that is to go is renamed to a tensor that replaces it.
    """

    new: Builder

    def mutate(self, graph: Graph) -> Graph:
        """The mutated graph; the same object where no node changed."""
        self.new = Builder(graph)
        for node in graph.nodes:
            method = getattr(self, f"mutate_{node.op}", self.mutate_node)
            method(graph, replace(node, inputs=self.new.current(node.inputs)))
        same = tuple(self.new.nodes) == graph.nodes and not self.new.renamed
        return graph if same and not self.new.constants else self.new.built()

    def mutate_node(self, graph: Graph, node: Node) -> None:
        """Called for nodes whose operator has no method of its own: keeps them."""
        _ = graph
        self.new.nodes.append(node)
