"""How much arithmetic an expression is: weights in units of one add, for the model's choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.codegen.helpers.math.functions import has_vector_math
from polyopt.ir.expr import Affine, Expr, Load
from polyopt.scheduler.model.body import OVERHEAD
from polyopt.scheduler.model.instructions import (
    Operations,
    distinct_nodes,
    operations,
    own_operations,
)
from polyopt.scheduler.model.machine import costs_of

if TYPE_CHECKING:
    from polyopt.codegen.target import Target
    from polyopt.ir.scop import Scop
    from polyopt.scheduler.model.machine import Costs


@dataclass(frozen=True)
class Weights:
    """What expressions take on a machine, in additions of vectors: for a vector of results."""

    target: Target
    costs: Costs
    #: whether math functions are our own
    own_math: bool

    @staticmethod
    def of(target: Target, scop: Scop) -> Weights:
        """Those of a target's costs, for expressions of a program."""
        return Weights(target, costs_of(target), has_vector_math(scop))

    def node(self, expr: Expr, lanes: int) -> float:
        """A node alone, without its operands, in so many lanes."""
        if not isinstance(expr, Load):
            return self._additions(own_operations(expr, self.target, lanes, own_math=self.own_math))
        if all(isinstance(i, Affine) for i in expr.index):
            return self.load
        return lanes * self.costs.gather / self.costs.arithmetic

    def evaluation(self, expr: Expr) -> float:
        """One evaluation: equal operands are computed once, affine subscripts are free."""
        lanes = self.target.lanes(expr.type.bytes)
        loaded = sum(
            self.node(node, lanes) for node in distinct_nodes(expr) if isinstance(node, Load)
        )
        done = operations(expr, self.target, lanes, own_math=self.own_math)
        return loaded + self._additions(done)

    def _additions(self, done: Operations) -> float:
        return done.simple + done.slow(self.costs) / self.costs.arithmetic

    @property
    def load(self) -> float:
        """A vector that is loaded; every second one lies across two lines."""
        return (self.costs.load + self.costs.split / 2) / self.costs.arithmetic

    @property
    def store(self) -> float:
        """A vector that is stored."""
        return self.costs.store / self.costs.arithmetic

    @property
    def buffer(self) -> float:
        """A vector's way to the second-level cache and back, and its share of a loop of its own."""
        cycles = 2 * self.target.vector_bytes / self.costs.bandwidth[0]
        return (cycles + OVERHEAD * self.costs.scalar) / self.costs.arithmetic

    @property
    def through_memory(self) -> float:
        """A vector's way to memory and back; its lines are loaded before they are stored, too."""
        cycles = 3 * self.target.vector_bytes / self.costs.bandwidth[-1]
        return cycles / self.costs.arithmetic
