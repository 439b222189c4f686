"""Activations that exporters write out, as the operators they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polyopt.graph.passes.base import Pass
from polyopt.graph.passes.rewrite import Constant, Node, Rewrite, Tensor

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Graph
    from polyopt.graph.passes.base import Builder
    from polyopt.graph.passes.rewrite import Match

_X = Tensor("x")


def _product(one: Node | Tensor, other: Node | Constant) -> Node:
    return Node("mul", (one, other), either=True)


_SUM = Node("add", (_X, Constant(value=3.0)), either=True)
_CUT = Node("clip", (_SUM,), "clip")
_HALF_ERF = Node(
    "add", (Node("erf", (Node("div", (_X, Constant(value=2**0.5))),)), Constant(value=1.0)),
    either=True,
)  # fmt: skip

#: (operator, how exporters write it)
_IDIOMS: tuple[tuple[str, Node], ...] = (
    ("silu", _product(_X, Node("sigmoid", (_X,)))),
    ("hardswish", Node("div", (_product(_X, _CUT), Constant(value=6.0)))),
    ("hardswish", _product(_X, Node("div", (_CUT, Constant(value=6.0))))),
    ("hardswish", _product(_X, Node("hard_sigmoid", (_X,), "sigmoid"))),
    ("gelu", _product(_product(_X, _HALF_ERF), Constant(value=0.5))),
    ("gelu", _product(_product(_X, Constant(value=0.5)), _HALF_ERF)),  # type: ignore[arg-type]
)


@dataclass(frozen=True)
class _Idiom(Rewrite):
    op: str = ""
    written: Node = field(default=_SUM)

    @property
    def pattern(self) -> Node:
        """The activation as exporters write it."""
        return self.written

    def replace(self, match: Match, new: Builder) -> bool:
        """The operator on the tensor."""
        if "clip" in match.nodes and dict(match.nodes["clip"].attributes) != {
            "low": 0.0, "high": 6.0
        }:  # fmt: skip
            return False
        if "sigmoid" in match.nodes and not _is_hard(dict(match.nodes["sigmoid"].attributes)):
            return False
        new.node(match.root.name, self.op, [match.tensors["x"]])
        return True


def _is_hard(options: dict[str, object]) -> bool:
    alpha, beta = options.get("alpha", 0.2), options.get("beta", 0.5)
    return isinstance(alpha, float) and abs(alpha - 1 / 6) < 1e-6 and beta == 0.5


@dataclass(frozen=True)
class FoldIdioms(Pass):
    """Finds SiLU, HardSwish and GELU in what they are made of."""

    def run(self, graph: Graph) -> Graph:
        """The graph with these operators."""
        for op, written in _IDIOMS:
            graph = _Idiom(op, written).run(graph)
        return graph
