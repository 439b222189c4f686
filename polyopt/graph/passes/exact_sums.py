"""Sums of products of 8-bit integers in floating point, where they are exact there.

rewrite: ``conv_integer(x, w, zx, zw)`` -> ``cast(conv(x - zx, w - zw), i32)``

Integers up to 2 ** 24 are floats of 32 bits, and so are sums of products that stay below, in any
order and whatever is added to what by one multiply-add. How large they may become is known from the
weights; a sum that may be larger is made of several, each over some of the input channels, which
are added up as integers. Vectors have more multiply-adds of floats than of integers of 32 bits,
and all that is done for convolutions of floats (layouts, tiles in registers) serves these too.

Where vectors have dot products of pairs of 16 bits, convolutions over enough channels stay
integers: two products at once, in sums of 32 bits (``SelectLayout`` brings them to that form).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from polyopt.graph.passes.base import Mutator, Pass, remark
from polyopt.ir.types import I32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.graph.ir.graph import Array, Graph, Node

#: integers up to here are floats of 32 bits
_EXACT = 1 << 24
#: the largest difference of two integers of 8 bits
_WIDEST = 255
#: pairs do twice as much as floats: not worth more than that much of zeros among them
_MOST_FILLED = 1.5
#: a sum of more parts is left to integers
_MOST_PARTS = 8


@dataclass(frozen=True)
class ExactSums(Pass):
    """Convolutions and matrix products of 8-bit integers by constants, as ones of floats.

    One whose weights are no constants, or whose sums may be so large that it would take too many
    parts, is left as it is, with a remark. So are sums that will be dot products of pairs in blocks
    of so many ``lanes``; with 0 there are none.
    """

    lanes: int = 0

    def run(self, graph: Graph) -> Graph:
        """The graph with sums of floats; results are the same integers."""
        return _AsFloats(self.lanes).mutate(graph)


def paired_weights(graph: Graph, node: Node, lanes: int) -> Array | None:
    """A convolution's weights less their zero points, where its sums are better as dot products of
    pairs in blocks of ``lanes`` channels: they fit 32 bits, and most of each pair are channels."""
    if node.op != "conv_integer" or not lanes or dict(node.attributes).get("group", 1) != 1:
        return None
    channels = _shape(graph, node)[1]
    weights = _weights(graph, node) if len(_shape(graph, node)) in {3, 4} else None
    filled = channels + -channels % (2 * lanes)
    if weights is None or filled > _MOST_FILLED * channels:
        return None
    sums = np.abs(weights.astype(np.int64)).reshape(len(weights), -1).sum(1)
    return weights if sums.max(initial=0) * _largest(graph, node) <= I32.range[1] else None


class _AsFloats(Mutator):
    def __init__(self, lanes: int) -> None:
        super().__init__()
        self.lanes = lanes

    def mutate_conv_integer(self, graph: Graph, node: Node) -> None:
        """Parts are over input channels, the second axis of weights."""
        if paired_weights(graph, node, self.lanes) is not None:
            remark(f"{node.name} is left to dot products of pairs")
            self.new.nodes.append(node)
            return
        weights = _weights(graph, node)
        groups = cast("int", dict(node.attributes).get("group", 1))
        parts = None if weights is None else _parts(weights, 1, (0,), _largest(graph, node))
        if parts is None or (len(parts) > 1 and groups > 1):
            self._left(node, weights)
            return

        def of_part(x: str, w: str, name: str) -> str:
            return self.new.node(name, "conv", [x, w], **dict(node.attributes))

        self._sum(graph, node, cast("Array", weights), parts, (1, 1), of_part)

    def mutate_matmul_integer(self, graph: Graph, node: Node) -> None:
        """Parts are over the columns of the first operand, the rows of the second."""
        weights = _weights(graph, node)
        rank = 0 if weights is None else weights.ndim
        axis = max(0, rank - 2)
        beside = tuple(d for d in range(rank) if d != axis)
        parts = None if weights is None else _parts(weights, axis, beside, _largest(graph, node))
        if parts is None:
            self._left(node, weights)
            return

        def of_part(x: str, w: str, name: str) -> str:
            return self.new.node(name, "matmul", [x, w])

        axes = len(_shape(graph, node)) - 1, axis
        self._sum(graph, node, cast("Array", weights), parts, axes, of_part)

    def _left(self, node: Node, weights: Array | None) -> None:
        reason = "its sums may be too large" if weights is not None else "its weights are data"
        remark(f"{node.name} is left to integers: {reason}")
        self.new.nodes.append(node)

    def _sum(
        self,
        graph: Graph,
        node: Node,
        weights: Array,
        parts: Sequence[tuple[int, int]],
        axes: tuple[int, int],
        of_part: Callable[[str, str, str], str],
    ) -> None:
        """The sum of all parts, each made by ``of_part`` of slices along ``axes`` of operands."""
        x = self._as_float(node)
        sums: list[str] = []
        for first, stop in parts:
            part = weights.take(range(first, stop), axes[1]).astype(np.float32)
            w = self.new.constant(f"{node.inputs[1]}_float", part)
            of_x = x if len(parts) == 1 else self._slice(graph, node, x, axes[0], first, stop)
            made = of_part(of_x, w, self.new.fresh(f"{node.name}_float"))
            name = node.name if len(parts) == 1 else self.new.fresh(f"{node.name}_part")
            sums.append(self.new.node(name, "cast", [made], to="i32"))
        while len(sums) > 1:
            name = node.name if len(sums) == 2 else self.new.fresh(f"{node.name}_sum")
            sums[:2] = [self.new.node(name, "add", sums[:2])]

    def _as_float(self, node: Node) -> str:
        """The first operand less its zero point."""
        one = self.new.constant("one", np.array(1, np.float32))
        zero = node.inputs[2:3] if any(node.inputs[2:3]) else ()
        name = self.new.fresh(f"{node.inputs[0]}_float")
        return self.new.node(name, "dequantize", [node.inputs[0], one, *zero])

    def _slice(self, graph: Graph, node: Node, x: str, axis: int, first: int, stop: int) -> str:
        shape = _shape(graph, node)
        return self.new.node(
            self.new.fresh(f"{x}_part"), "slice", [x],
            starts=tuple(first if d == axis else 0 for d in range(len(shape))),
            steps=(1,) * len(shape),
            shape=tuple(stop - first if d == axis else e for d, e in enumerate(shape)),
        )  # fmt: skip


def _shape(graph: Graph, node: Node) -> tuple[int, ...]:
    return graph.values[node.inputs[0]].shape


def _weights(graph: Graph, node: Node) -> Array | None:
    """The second operand less its zero point, where both are constants."""
    known = graph.constants.get(node.inputs[1])
    zero: Array | None = np.zeros((), np.int8)
    if len(node.inputs) > 3 and node.inputs[3]:
        zero = graph.constants.get(node.inputs[3])
    if known is None or zero is None:
        return None
    return known.astype(np.int32) - zero.astype(np.int32)


def _largest(graph: Graph, node: Node) -> int:
    """The largest magnitude of the first operand less its zero point."""
    low, high = graph.values[node.inputs[0]].dtype.range
    name = node.inputs[2] if len(node.inputs) > 2 else ""
    zero = graph.constants.get(name) if name else np.zeros((), np.int32)
    if zero is None:
        return _WIDEST
    points = zero.astype(np.int32)
    return int(max(high - points.min(), points.max() - low))


def _parts(
    weights: Array, axis: int, beside: tuple[int, ...], largest: int
) -> list[tuple[int, int]] | None:
    """Ranges along an axis whose sums of products stay exact; nothing where they are too many.

    ``beside`` are the axes of weights that are not summed over.
    """
    sizes = np.abs(weights.astype(np.int64))
    over = tuple(d for d in range(sizes.ndim) if d != axis and d not in beside)
    lines = np.moveaxis(sizes.sum(over, keepdims=True), axis, 0).reshape(sizes.shape[axis], -1)
    found: list[tuple[int, int]] = []
    first, total = 0, np.zeros(lines.shape[1], np.int64)
    for place, line in enumerate(lines):
        if (line * largest).max() > _EXACT or len(found) >= _MOST_PARTS:
            return None
        if ((total + line) * largest).max() > _EXACT:
            found.append((first, place))
            first, total = place, np.zeros_like(total)
        total = total + line
    return [*found, (first, len(lines))]
