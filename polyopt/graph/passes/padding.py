"""Padding as part of what reads it: convolutions and pooling have pads of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from polyopt.graph.passes.base import Pass
from polyopt.graph.passes.rewrite import Constant, Node, Rewrite, Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.ir.graph import Graph
    from polyopt.graph.passes.base import Builder
    from polyopt.graph.passes.rewrite import Match


@dataclass(frozen=True)
class _IntoReader(Rewrite):
    """``op(pad(x))`` as ``op(x)`` with larger pads, where the frame has the value ``neutral``."""

    op: str = "conv"
    neutral: float = 0.0
    operands: int = 3

    @property
    def pattern(self) -> Node:
        """A constant frame, read by the operator."""
        others = [Constant(f"c{k}") for k in range(self.operands - 1)]
        return Node(self.op, (Node("pad", (Tensor("x"),), "pad"), *others))

    def replace(self, match: Match, new: Builder) -> bool:
        """Add the frame's widths to the reader's."""
        pad, root = match.nodes["pad"], match.root
        options = dict(pad.attributes)
        widths = cast("Sequence[int]", options["pads"])
        spatial = _spatial(widths)
        if options.get("mode", "constant") != "constant" or spatial is None:
            return False
        if options.get("value", 0.0) != self.neutral or not self._fits(root.attributes):
            return False
        pads = cast("Sequence[int]", root["pads"])
        total = tuple(a + b for a, b in zip(pads, spatial, strict=True))
        if self.op != "conv" and not _is_narrow(total, dict(root.attributes)):
            return False
        inputs = [match.tensors["x"], *root.inputs[1:]]
        new.node(root.name, root.op, inputs, **{**dict(root.attributes), "pads": total})
        return True

    def _fits(self, attributes: Sequence[tuple[str, object]]) -> bool:
        """A mean has to count the frame; windows have to be those of the padded tensor."""
        options = dict(attributes)
        counts = self.op != "avg_pool" or bool(options.get("count_include_pad", 0))
        return counts and not options.get("ceil_mode", 0)


def _spatial(widths: Sequence[int]) -> tuple[int, ...] | None:
    """The widths along rows and columns; ``None`` for other frames or where something is cut."""
    rank = len(widths) // 2
    outer = (*widths[:2], *widths[rank : rank + 2])
    if any(outer) or min(widths) < 0:
        return None
    return (*widths[2:rank], *widths[rank + 2 :])


def _is_narrow(pads: Sequence[int], options: dict[str, object]) -> bool:
    """Whether every window keeps an element: what pooling demands of its pads."""
    kernel = cast("Sequence[int]", options["kernel"])
    steps = cast("Sequence[int]", options["dilations"])
    return all(
        max(pads[d], pads[len(kernel) + d]) < steps[d] * (kernel[d] - 1) + 1
        for d in range(len(kernel))
    )


@dataclass(frozen=True)
class FoldPads(Pass):
    """Folds frames of 0 into convolutions and means that count them, of -inf into maxima."""

    def run(self, graph: Graph) -> Graph:
        """The graph with fewer pads."""
        graph = _IntoReader("conv", 0.0, 3).run(graph)
        graph = _IntoReader("avg_pool", 0.0, 1).run(graph)
        return _IntoReader("max_pool", float("-inf"), 1).run(graph)
