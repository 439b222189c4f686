"""Winograd's convolutions where they are allowed and predicted to be clearly faster.

rewrite: ``conv_blocked(x, w, b)`` -> ``winograd_conv(x, transformed w, b)``

Equal in real numbers; rounding takes results further apart (``rounding``), so that the pass is for
``numerics="fast"`` alone. Each layer's remark says what was predicted, and the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from polyopt.codegen.target import target as find_target
from polyopt.errors import InvalidOptionError
from polyopt.graph.passes.base import Mutator, Pass, remark
from polyopt.graph.winograd.cost import Layer, direct_ns, tiled_ns
from polyopt.graph.winograd.rounding import direct_bound, relative_bound, transformed
from polyopt.graph.winograd.transforms import KERNEL, TILES
from polyopt.scheduler.model.objective import CLEARLY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.codegen.target import Target
    from polyopt.graph.ir.graph import Graph, Node


@dataclass(frozen=True)
class UseWinograd(Pass):
    """Computes 3 x 3 convolutions of stride 1 in tiles of results, by fewer products.

    ``tiles`` are the sizes to choose from, 2 for F(2 x 2, 3 x 3) and 4 for F(4 x 4, 3 x 3); with
    ``always`` the first of them is taken whatever is predicted. Left as they are: convolutions in
    groups, of few input channels, of other types, and whose weights are no constants.

    Raises ``InvalidOptionError`` for other sizes of tiles.
    """

    tiles: tuple[int, ...] = TILES
    target: str | Target = "native"
    always: bool = False

    def __post_init__(self) -> None:
        if not self.tiles or not set(self.tiles) <= set(TILES):
            listed = ", ".join(map(str, TILES))
            raise InvalidOptionError(f"tiles are some of {listed}, not {self.tiles!r}")

    def run(self, graph: Graph) -> Graph:
        """The graph with such convolutions; the same object where there are none."""
        return _Chooser(self, find_target(self.target)).mutate(graph)


class _Chooser(Mutator):
    def __init__(self, chosen: UseWinograd, target: Target) -> None:
        self.chosen = chosen
        self.target = target

    def mutate_conv_blocked(self, graph: Graph, node: Node) -> None:
        """One convolution."""
        tile = self._tile(graph, node) if _fits(graph, node) else 0
        if not tile:
            self.new.nodes.append(node)
            return
        x, w, *bias = node.inputs
        weights = transformed(graph.constants[w], tile)
        name = self.new.constant(f"{w}_transformed", weights)
        pads = cast("tuple[int, ...]", node["pads"])
        self.new.node(node.name, "winograd_conv", [x, name, *bias], tile=tile, pads=pads)

    def _tile(self, graph: Graph, node: Node) -> int:
        """The size of its tiles; 0 where it stays as it is."""
        layer = _layer(graph, node)
        if self.chosen.always:
            return self.chosen.tiles[0]
        direct = direct_ns(layer, self.target)
        times = {tile: tiled_ns(layer, tile, self.target) for tile in self.chosen.tiles}
        tile = min(times, key=lambda t: times[t])
        said = f"{times[tile] / 1e6:.3g} ms predicted in tiles of {tile} x {tile}"
        said += f", {direct / 1e6:.3g} ms directly"
        if times[tile] > CLEARLY * direct:
            remark(f"{node.name} stays direct: {said}")
            return 0
        channels = layer.inner * layer.lanes
        bounds = [relative_bound(tile, channels), direct_bound(channels)]
        remark(
            f"{node.name}: {said}; off by at most {bounds[0]:.2g} of max |x| sum |w|,"
            f" directly {bounds[1]:.2g}"
        )
        return tile


def _fits(graph: Graph, node: Node) -> bool:
    """Whether a convolution is of the form that tiles are for."""
    x, w = (graph.values[name] for name in node.inputs[:2])
    if len(x.shape) != 5 or node.inputs[1] not in graph.constants or str(x.dtype) != "f32":
        return False
    kernel = tuple(w.shape[2:4]) == (KERNEL, KERNEL)
    plain = all(_is_ones(node, name) for name in ("strides", "dilations"))
    one_group = w.shape[1] == x.shape[1]
    return kernel and plain and one_group and x.shape[-1] == w.shape[-1]


def _is_ones(node: Node, name: str) -> bool:
    return set(cast("Sequence[int]", node[name])) == {1}


def _layer(graph: Graph, node: Node) -> Layer:
    batch, outer, rows, columns, lanes = map(int, graph.values[node.name].shape)
    return Layer(batch, rows, columns, int(graph.values[node.inputs[0]].shape[1]), outer, lanes)
