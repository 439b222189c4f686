"""Weight packing: constant matrices in panels of as many columns as a register block has.

``w [k][n]`` becomes ``[n / b][k][b]``, once, in the order in which a product reads it. A product by
a matrix in rows copies the columns of each block of the sum before it reads them, in each call and
for each block of rows: with few rows that is a sixth of the time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from polyopt.codegen.target import target as find_target
from polyopt.errors import InvalidOptionError
from polyopt.graph.passes.base import Builder, Pass
from polyopt.scheduler.strategies.contractions.matmul import SHORTEST, VECTORS

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Array, Graph, Node


@dataclass(frozen=True)
class PackWeights(Pass):
    """Packs the constant matrices of products into panels of a register block's columns.

    ``lanes`` are the 4-byte elements of a vector, 0 for those of the target. Left as they are:
    matrices smaller than a block, and of types that no block is of.

    Raises ``InvalidOptionError`` for negative ``lanes``.
    """

    lanes: int = 0
    target: str = "native"

    def __post_init__(self) -> None:
        if self.lanes < 0:
            msg = f"vectors have no {self.lanes} lanes"
            raise InvalidOptionError(msg, hint="lanes=0 is the target's number")

    def run(self, graph: Graph) -> Graph:
        """The graph with packed matrices; the same object where there are none."""
        packer = _Packer(graph, self.lanes or find_target(self.target).lanes(4))
        packed = list(map(packer.is_packed, graph.nodes))
        return packer.new.built() if any(packed) else graph


@dataclass(frozen=True)
class _Packer:
    graph: Graph
    lanes: int
    #: matrix, and whether it is transposed -> its panels
    panels: dict[tuple[str, bool], str] = field(default_factory=dict[tuple[str, bool], str])
    new: Builder = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "new", Builder(self.graph))

    def is_packed(self, node: Node) -> bool:
        """Add a node, with its matrix packed where it has one; whether it has."""
        options = dict(node.attributes)
        turned = bool(options.get("trans_b", 0))
        matrix = self._matrix(node, turned=turned)
        if matrix is None:
            self.new.nodes.append(node)
            return False
        a, b, *c = node.inputs
        if (b, turned) not in self.panels:
            self.panels[b, turned] = self.new.constant(f"{b}_panels", self._panels(matrix))
        name = self.new.fresh(f"{node.name}_product") if any(c) else node.name
        self.new.node(name, "matmul_panels", [a, self.panels[b, turned]], columns=matrix.shape[1])
        if any(c):
            self.new.node(node.name, "add", [name, c[0]])
        return True

    def _matrix(self, node: Node, *, turned: bool) -> Array | None:
        """The constant ``[k][n]`` that a node multiplies by; ``None`` where it is left alone."""
        options = dict(node.attributes)
        scaled = options.get("alpha", 1.0) != 1.0 or options.get("beta", 1.0) != 1.0
        if node.op not in {"matmul", "gemm"} or scaled or options.get("trans_a", 0):
            return None
        matrix = self.graph.constants.get(node.inputs[1])
        rows = self.graph.values[node.inputs[0]].shape
        if matrix is None or matrix.ndim != 2 or len(rows) < 2 or matrix.dtype not in _TYPES:
            return None
        turned_back = np.ascontiguousarray(matrix.T) if turned else matrix
        least = min(int(rows[-2]), *turned_back.shape)
        return turned_back if least >= SHORTEST else None

    def _panels(self, matrix: Array) -> Array:
        """``[k][n]`` as ``[n / b][k][b]``, zeros behind the last column."""
        width = VECTORS * max(1, self.lanes * 4 // matrix.dtype.itemsize)
        inner, columns = matrix.shape
        count = -(-columns // width)
        whole = np.zeros((inner, count * width), matrix.dtype)
        whole[:, :columns] = matrix
        return np.ascontiguousarray(whole.reshape(inner, count, width).transpose(1, 0, 2))


#: of the elements that blocks are made of
_TYPES = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
