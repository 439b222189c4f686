"""What importers share: the graph in the making."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph.fusion.valid_lengths import valid_length
from polyopt.graph.ir.graph import Node, Value, value_of
from polyopt.graph.ir.infer import typed

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Array, ValidLength
    from polyopt.source import Span


@dataclass
class Importer:
    """The graph so far: what is known of each tensor, under its own name."""

    nodes: list[Node] = field(default_factory=list[Node])
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    #: arrays that are known: initializers, and what is computed from nothing else
    known: dict[str, Array] = field(default_factory=dict[str, "Array"])
    #: names of tensors that are other tensors
    aliases: dict[str, str] = field(default_factory=dict[str, str])
    #: names of tensors that are still to come
    reserved: frozenset[str] = frozenset()
    #: constants of types narrower than those that are taken, and these types' names
    narrow: dict[str, str] = field(default_factory=dict[str, str])
    #: tensors whose size depends on data
    lengths: dict[str, ValidLength] = field(default_factory=dict[str, "ValidLength"])

    def fresh(self, base: str) -> str:
        """A name that no tensor has or will have."""
        name, number = base, 2
        while name in self.values or name in self.reserved:
            name, number = f"{base}_{number}", number + 1
        return name

    def resolve(self, name: str) -> str:
        """The tensor that a name stands for."""
        return self.aliases.get(name, name)

    def is_finite(self, name: str) -> int:
        """1 for a constant without infinities and NaN, else 0."""
        array = self.known.get(name)
        return int(array is not None and bool(np.isfinite(array).all()))

    def add(self, node: Node) -> None:
        """One more node, its operands checked.

        Raises what its operator's rule raises, ``GraphError`` for a constant with NaN in it, and
        ``UnsupportedError`` for what reads a size that depends on data.
        """
        for name in node.operands:
            if (array := self.known.get(name)) is not None:
                _need_numbers(name, array)
        self.values[node.name] = typed(node, self.values)
        if (length := valid_length(node, self.values, self.lengths)) is not None:
            self.lengths[node.name] = length
        self.nodes.append(node)

    def constant(self, name: str, array: Array, span: Span) -> None:
        """A known array. Raises ``UnsupportedError`` for a type that C has not."""
        try:
            self.values[name] = value_of(name, array)
        except KeyError:
            raise UnsupportedError(f"{name!r} has elements of type {array.dtype}",
                                   span=span) from None  # fmt: skip
        self.known[name] = array


def _need_numbers(name: str, array: Array) -> None:
    """Raises ``GraphError`` for an array with NaN in it: whatever it meets would be NaN too."""
    if array.dtype.kind == "f" and (found := np.isnan(array)).any():
        first = np.argwhere(found)[0].tolist()
        raise GraphError(f"its constant {name!r} holds NaN, first at {first}")
