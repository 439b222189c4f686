"""Conv + BN + ReLU and residual sums, put together by what they are called.

These passes mark nodes as one region and leave what they compute alone; the fusion policy puts a
region into one kernel. At its usual level it would do so anyway, by how the nodes read each other;
at level ``marked`` nothing else is fused, as in systems that fuse by lists of patterns.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.graph.passes.base import Pass, remark
from polyopt.graph.passes.rewrite import Constant, Node, Tensor, find_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.ir.graph import Graph
    from polyopt.graph.passes.rewrite import Match

#: ReLU and ReLU6 (a clip), and those that newer networks have in their place
ACTIVATIONS = (
    "relu", "clip", "leaky_relu", "elu", "silu", "hardswish", "hard_sigmoid", "sigmoid", "tanh",
    "gelu",
)  # fmt: skip

_CONV = Node("conv", (Tensor("x"), Tensor("w"), Constant("b")), "conv", forms=True)
#: with its batch normalisation folded, not folded, or split into a product and a sum
_NORMED = (
    _CONV,
    Node("batch_norm", (_CONV, Constant(), Constant(), Constant(), Constant())),
    Node("add", (Node("mul", (_CONV, Constant())), Constant())),
)


@dataclass(frozen=True)
class _Marking(Pass):
    """Base of passes that mark what matches as a region. ``activations`` may end one."""

    activations: tuple[str, ...] = ACTIVATIONS

    @abstractmethod
    def patterns(self) -> Sequence[Sequence[Node]]:
        """What to look for, the largest first; among patterns that stand together, the match with
        the latest convolution counts."""

    def fits(self, match: Match) -> bool:
        """Whether a match is one."""
        _ = match
        return True

    def run(self, graph: Graph) -> Graph:
        """The graph with regions marked; nodes that have one keep it."""
        place = {name: number for number, name in enumerate(graph.names)}
        regions = {node.name: node.region for node in graph.nodes if node.region}
        before = len(regions)
        for shapes in self.patterns():
            for node in graph.nodes:
                found = [m for shape in shapes for m in find_all(graph, node, shape)
                         if self.fits(m)]  # fmt: skip
                found.sort(key=lambda m: place[m.nodes["conv"].name])
                if not found:
                    continue
                names = [node.name, *(n.name for n in found[-1].inner)]
                if not regions.keys().isdisjoint(names):
                    continue
                if shared := found[-1].needed_elsewhere:
                    remark(f"{node.name} is no region with {shared}")
                    continue
                regions |= dict.fromkeys(names, f"{self.name}({node.name})")
        if len(regions) == before:
            return graph
        return graph.with_nodes(replace(n, region=regions.get(n.name, "")) for n in graph.nodes)


@dataclass(frozen=True)
class FuseConvBnRelu(_Marking):
    """Marks convolution, batch normalisation and activation as one region, in any layout.

    The normalisation may be folded into the weights already. A convolution that something else
    needs is not marked.
    """

    def patterns(self) -> Sequence[Sequence[Node]]:
        """With an activation; then a normalisation without one."""
        ended = [Node(op, (shape,)) for op in self.activations for shape in _NORMED]
        return ended, _NORMED[1:]


@dataclass(frozen=True)
class FuseResidualAdd(_Marking):
    """Marks a convolution and the sum that adds a tensor of the same shape, with normalisation and
    activation where they are there.

    Of two convolutions that are added, the later one is marked, whose kernel runs last.
    """

    def patterns(self) -> Sequence[Sequence[Node]]:
        """With an activation; then without."""
        sums = [Node("add", pair) for shape in _NORMED
                for pair in ((shape, Tensor("r")), (Tensor("r"), shape))]  # fmt: skip
        return [Node(op, (shape,)) for op in self.activations for shape in sums], sums

    def fits(self, match: Match) -> bool:
        """Whether what is added is computed, and no number per channel."""
        added, values = match.tensors["r"], match.graph.values
        is_whole = values[added].shape == values[match.root.name].shape
        return is_whole and added not in match.graph.constants
