"""Batch normalisation with constant statistics: into the weights of a convolution before it, or
as one factor and one summand per channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from polyopt.graph.passes.base import Mutator, Pass
from polyopt.graph.passes.rewrite import Constant, Node, Rewrite, Tensor

if TYPE_CHECKING:
    from polyopt.graph.ir import graph as ir
    from polyopt.graph.ir.graph import Array, Graph
    from polyopt.graph.passes.base import Builder
    from polyopt.graph.passes.rewrite import Match

_STATISTICS = tuple(Constant(name) for name in ("scale", "shift", "mean", "variance"))


@dataclass(frozen=True)
class _IntoConvolution(Rewrite):
    """``batch_norm(conv(x, w, b))`` as ``conv(x, w', b')``.

    >>> _IntoConvolution().name
    '_into_convolution'
    """

    @property
    def pattern(self) -> Node:
        """A convolution whose weights and bias are constants, normalised."""
        conv = Node("conv", (Tensor("x"), Constant("w"), Constant("b")), "conv")
        return Node("batch_norm", (conv, *_STATISTICS))

    def replace(self, match: Match, new: Builder) -> bool:
        """Multiply each output channel's weights, in double precision."""
        conv, root = match.nodes["conv"], match.root
        factor, summand = _affine(
            [match.array(s.name) for s in _STATISTICS], cast("float", root["epsilon"])
        )
        weights = match.array("w")
        bias = match.array("b") if "b" in match.tensors else np.zeros(len(factor), weights.dtype)
        scaled = weights * factor.reshape(-1, *(1,) * (weights.ndim - 1))
        shifted = bias * factor + summand
        name = match.tensors["w"]
        inputs = (
            match.tensors["x"],
            new.constant(f"{name}_folded", scaled.astype(weights.dtype)),
            new.constant(f"{root.name}_bias", shifted.astype(weights.dtype)),
        )
        new.node(root.name, "conv", inputs, **dict(conv.attributes))
        return True


class _AsScaleAndShift(Mutator):
    """``batch_norm(x)`` as ``x * factor + summand``."""

    def mutate_batch_norm(self, graph: Graph, node: ir.Node) -> None:
        """Replace one whose statistics are constants."""
        arrays = [graph.constants.get(name) for name in node.inputs[1:]]
        if any(array is None for array in arrays):
            self.new.nodes.append(node)
            return
        known = cast("list[Array]", arrays)
        factor, summand = _affine(known, cast("float", node["epsilon"]))
        shape = (-1, *(1,) * (len(graph.values[node.name].shape) - 2))
        kind = known[0].dtype
        by = self.new.constant(f"{node.name}_factor", factor.astype(kind).reshape(shape))
        plus = self.new.constant(f"{node.name}_summand", summand.astype(kind).reshape(shape))
        scaled = self.new.node(self.new.fresh(f"{node.name}_scaled"), "mul", [node.inputs[0], by])
        self.new.node(node.name, "add", [scaled, plus])


def _affine(statistics: list[Array], epsilon: float) -> tuple[Array, Array]:
    """``factor`` and ``summand`` with ``batch_norm(x) = x * factor + summand``, in f64.

    A variance below zero gives NaN, as it does where the network computes it.
    """
    scale, shift, mean, variance = (a.astype(np.float64) for a in statistics)
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = scale / np.sqrt(variance + epsilon)
    return factor, shift - mean * factor


@dataclass(frozen=True)
class FoldBatchNorm(Pass):
    """Folds batch normalisation into convolutions that nothing else reads.

    With ``split``, one that cannot be folded becomes a product and a sum per element, which fuse
    with their neighbours.
    """

    split: bool = True

    def run(self, graph: Graph) -> Graph:
        """The graph without batch normalisations of constant statistics."""
        folded = _IntoConvolution().run(graph)
        return _AsScaleAndShift().mutate(folded) if self.split else folded
