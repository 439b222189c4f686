"""One ONNX node on its way into a graph: its attributes and inputs, and what it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.errors import GraphError, PolyoptError, UnsupportedError
from polyopt.graph.ir.graph import Node, attributes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from polyopt.graph.importer import Importer
    from polyopt.graph.ir.graph import Array, Attribute, Value
    from polyopt.source import Span


@dataclass(frozen=True)
class OnnxNode:
    """An ONNX node, with what a converter needs of it."""

    importer: Importer
    op: str
    opset: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    title: str
    span: Span

    # -- what it says ---------------------------------------------------------------------------

    def unsupported(self, what: str, hint: str = "") -> UnsupportedError:
        """The error for a form of the operator that is not taken."""
        return UnsupportedError(f"{self.title}: {what}", span=self.span, hint=hint)

    def wrong(self, what: str) -> GraphError:
        """The error for a node that makes no sense."""
        return GraphError(f"{self.title}: {what}", span=self.span)

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401
        """An attribute, or its default: as ONNX has them, a float is one of 32 bits."""
        usual = float(np.float32(default)) if isinstance(default, float) else default
        return self.attributes.get(name, usual)

    def has(self, index: int) -> bool:
        """Whether an optional input is given."""
        return index < len(self.inputs) and bool(self.inputs[index])

    def value(self, index: int) -> Value:
        """Shape and type of an input. Raises ``GraphError`` where it is left out."""
        if not self.has(index):
            raise self.wrong(f"its input {index} is missing")
        return self.importer.values[self.inputs[index]]

    @property
    def rank(self) -> int:
        """Dimensions of the first input."""
        return len(self.value(0).shape)

    def shape_of(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor made on the way."""
        return self.importer.values[name].shape

    def array(self, index: int) -> Array | None:
        """An input that has to be known now; ``None`` where it is left out.

        Raises ``UnsupportedError`` where it is computed when the network runs.
        """
        if not self.has(index):
            return None
        found = self.importer.known.get(self.inputs[index])
        if found is None:
            raise self.unsupported(
                f"its input {self.inputs[index]!r} has to be a constant",
                "shapes, axes and bounds that depend on data are not taken",
            )
        return found

    def number(self, index: int) -> float | None:
        """An operand that is one known number; nothing where it is left out.

        Raises ``UnsupportedError`` where it is computed, ``GraphError`` for more than one number.
        """
        found = self.array(index)
        if found is not None and found.size != 1:
            raise self.wrong(f"its input {index} has {found.size} elements, where it takes one")
        return None if found is None else float(found.reshape(()))

    def numbers(self, index: int, attribute: str) -> tuple[int, ...] | None:
        """Integers given as an attribute or, in later opsets, as an input."""
        if attribute in self.attributes:
            return tuple(map(int, self.attributes[attribute]))
        found = self.array(index)
        return None if found is None else tuple(map(int, found.ravel()))

    # -- what it becomes ------------------------------------------------------------------------

    def define(
        self,
        op: str,
        inputs: Sequence[str] | None = None,
        /,
        *,
        output: int = 0,
        **options: Attribute,
    ) -> None:
        """The node's output is this operator; without ``inputs``, of the node's own."""
        self._add(self.outputs[output], op, self.inputs if inputs is None else inputs, options)

    def step(self, op: str, inputs: Sequence[str], /, **options: Attribute) -> str:
        """An operator on the way to the output; the name of its tensor."""
        name = self.importer.fresh(f"{self.outputs[0]}_{op}")
        self._add(name, op, inputs, options)
        return name

    def alias(self, index: int = 0) -> None:
        """The node's output is its input."""
        self.value(index)  # there has to be one
        self.importer.aliases[self.outputs[0]] = self.inputs[index]

    def nothing(self, shape: tuple[int, ...], output: int = 0) -> None:
        """The node's output has no elements: it is known, and what joins it leaves it out."""
        if not self.outputs[output]:  # left out
            return
        empty = np.empty(shape, self.value(0).dtype.numpy_name)
        self.importer.constant(self.outputs[output], empty, self.span)

    def constant(self, array: Array, base: str) -> str:
        """An array made from attributes; the name of its tensor."""
        name = self.importer.fresh(f"{self.outputs[0]}_{base}")
        self.importer.constant(name, array, self.span)
        return name

    def _add(
        self, name: str, op: str, inputs: Sequence[str], options: dict[str, Attribute]
    ) -> None:
        if not name:  # an output that is left out
            return
        given = list(inputs)
        while given and not given[-1]:
            given.pop()
        values = self.importer.values
        empty = next((i for i in given if i and not values[i].size), None)
        if empty is not None:
            raise self.unsupported(f"its input {empty!r} has 0 elements: {values[empty]}")
        node = Node(name, op, tuple(given), attributes(**options), self.title)
        try:
            self.importer.add(node)
        except PolyoptError as error:
            shown = error.diagnostic
            types = [f"{i} is {self.importer.values[i]}" for i in given if i]
            raise type(error)(f"{self.title}: {shown.message}", span=self.span,
                              notes=[*shown.notes, *types], hint=shown.hint) from None  # fmt: skip


if TYPE_CHECKING:
    Converter = Callable[[OnnxNode], None]

CONVERTERS: dict[str, Converter] = {}


def converts(*names: str) -> Callable[[Converter], Converter]:
    """Register what turns ONNX operators of these names into nodes."""

    def register(converter: Converter) -> Converter:
        CONVERTERS.update(dict.fromkeys(names, converter))
        return converter

    return register


def converts_as(names: Mapping[str, str]) -> None:
    """Register ONNX operators that have an operator of ours with the same operands and no
    attributes: ONNX's name -> ours."""

    def renamed(node: OnnxNode) -> None:
        node.define(names[node.op])

    CONVERTERS.update(dict.fromkeys(names, renamed))


def as_ints(given: object) -> tuple[int, ...]:
    """A list attribute as a tuple."""
    return tuple(int(n) for n in cast("Sequence[int]", given))
