"""Convolutions and products of dequantised tensors as sums of products of integers.

rewrite: ``conv((x - zx) * sx, (w - zw) * sw) + b`` ->
``conv_integer(x, w, zx, zw) * (sx * sw) + b``

Sums of products of 8 bits are exact in 32, so that this rounds less than what it replaces. What
quantises the result stays an operator of its own, and fuses with the sums like any other.
(B. Jacob et al., "Quantization and Training of Neural Networks for Efficient
Integer-Arithmetic-Only Inference", CVPR 2018.)
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from polyopt.graph.passes.base import Mutator, Pass, remark

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.ir.graph import Attribute, Graph, Node


@dataclass(frozen=True)
class IntegerProducts(Pass):
    """Takes scales out of sums of products of dequantised tensors of 8 bits.

    An operand with a scale per element of what is summed over is left as it is, with a remark.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph with sums of products of integers."""
        return _OnIntegers().mutate(graph)


@dataclass(frozen=True)
class _Operand:
    """A dequantised tensor: its integers, scale and zero point, "" where it has none."""

    integers: str
    scale: str
    zero: str


class _OnIntegers(Mutator):
    def mutate_conv(self, graph: Graph, node: Node) -> None:
        """Scales of weights may be those of output channels."""
        rank = len(graph.values[node.name].shape)
        operands = self._operands(graph, node, (), (0,))
        if operands is None:
            self.new.nodes.append(node)
            return
        x, w = operands
        sums = self._sums(node, "conv_integer", (x, w), **dict(node.attributes))
        shape = (-1, *(1,) * (rank - 2))
        scale = self._joined(node, x.scale, self._reshaped(graph, node, w.scale, shape))
        self._scaled(graph, node, sums, scale, shape)

    def mutate_matmul(self, graph: Graph, node: Node) -> None:
        """Scales of the right operand may be those of columns."""
        columns = len(graph.values[node.inputs[1]].shape) - 1
        operands = self._operands(graph, node, (), (columns,) if columns else ())
        if operands is None:
            self.new.nodes.append(node)
            return
        left, right = operands
        sums = self._sums(node, "matmul_integer", operands)
        row = self._reshaped(graph, node, right.scale, (-1,))
        self._scaled(graph, node, sums, self._joined(node, left.scale, row), ())

    def mutate_gemm(self, graph: Graph, node: Node) -> None:
        """As a product, with the right operand transposed where that is asked for."""
        options = dict(node.attributes)
        plain = all(
            options.get(n, v) == v for n, v in (("alpha", 1.0), ("beta", 1.0), ("trans_a", 0))
        )
        turned = bool(options.get("trans_b", 0))
        operands = self._operands(graph, node, (), (0 if turned else 1,)) if plain else None
        if operands is None:
            self.new.nodes.append(node)
            return
        left, right = operands
        if turned:
            right = _Operand(*(self._turned(graph, node, n) for n in
                               (right.integers, right.scale, right.zero)))  # fmt: skip
        sums = self._sums(node, "matmul_integer", (left, right))
        row = self._reshaped(graph, node, right.scale, (-1,))
        self._scaled(graph, node, sums, self._joined(node, left.scale, row), ())

    # -- operands ---------------------------------------------------------------------------

    def _operands(
        self, graph: Graph, node: Node, *axes: Sequence[int]
    ) -> tuple[_Operand, _Operand] | None:
        """Both operands where they are dequantised, with scales along no other axes."""
        makers = [graph.makers.get(name) for name in node.inputs[:2]]
        if any(m is None or m.op != "dequantize" for m in makers):
            return None
        found: list[_Operand] = []
        for maker, along in zip(makers, axes, strict=True):
            assert maker is not None
            integers, scale, zero = (*maker.inputs, "")[:3]
            why = self._why_not(graph, maker, along)
            if why:
                remark(f"{node.name} stays one of floats: {why}")
                return None
            found.append(_Operand(*self.new.current((integers, scale, zero))))
        return found[0], found[1]

    def _why_not(self, graph: Graph, maker: Node, along: Sequence[int]) -> str:
        """Why an operand cannot be summed as integers; "" where it can."""
        values = graph.values
        kind, shape = values[maker.inputs[0]].dtype, values[maker.inputs[0]].shape
        if not kind.is_integer or kind.bits != 8:
            return f"{maker.inputs[0]} is of type {kind}"
        if dict(maker.attributes).get("block", 0):
            return f"{maker.name} has a scale per block of what is summed over"
        for name in maker.inputs[1:]:
            own = (1,) * (len(shape) - len(values[name].shape)) + values[name].shape if name else ()
            if any(extent != 1 and d not in along for d, extent in enumerate(own)):
                return f"{name} differs along an axis that is summed over"
        return ""

    # -- nodes ------------------------------------------------------------------------------

    def _sums(
        self, node: Node, op: str, operands: tuple[_Operand, _Operand], **options: Attribute
    ) -> str:
        one, two = operands
        inputs = [one.integers, two.integers, one.zero, two.zero]
        while not inputs[-1]:
            inputs.pop()
        return self.new.node(self.new.fresh(f"{node.name}_sums"), op, inputs, **options)

    def _reshaped(self, graph: Graph, node: Node, name: str, shape: tuple[int, ...]) -> str:
        full = tuple(self._size(graph, name) if n == -1 else n for n in shape)
        return self.new.node(self.new.fresh(f"{node.name}_scale"), "reshape", [name], shape=full)

    def _size(self, graph: Graph, name: str) -> int:
        if name in graph.values:
            return prod(graph.values[name].shape)
        turned = next(n for n in self.new.nodes if n.name == name)
        return prod(graph.values[turned.inputs[0]].shape)

    def _turned(self, graph: Graph, node: Node, name: str) -> str:
        """A matrix transposed; a scale or zero point of all elements as it is."""
        if not name or len(graph.values[name].shape) < 2:
            return name
        fresh = self.new.fresh(f"{node.name}_turned")
        return self.new.node(fresh, "transpose", [name], perm=(1, 0))

    def _joined(self, node: Node, one: str, two: str) -> str:
        return self.new.node(self.new.fresh(f"{node.name}_scales"), "mul", [one, two])

    def _scaled(
        self, graph: Graph, node: Node, sums: str, scale: str, shape: tuple[int, ...]
    ) -> None:
        """The node's result: its sums with their scale, and its bias added."""
        bias = node.inputs[2] if len(node.inputs) > 2 else ""
        if not bias:
            self.new.node(node.name, "dequantize", [sums, scale])
            return
        real = self.new.node(self.new.fresh(f"{node.name}_real"), "dequantize", [sums, scale])
        if shape:
            full = (prod(graph.values[bias].shape), *shape[1:])
            bias = self.new.node(self.new.fresh(f"{node.name}_bias"), "reshape", [bias], shape=full)
        self.new.node(node.name, "add", [real, bias])
