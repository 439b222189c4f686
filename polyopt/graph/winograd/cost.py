"""How long a convolution takes as it is defined, and in Winograd's tiles, by a machine's costs.

Both are products of matrices with tiles of sums in registers: one of weights for each place of the
kernel, one of transformed weights for each place of a tile. What Winograd saves in products it pays
in transformations, in what lies between them, and in weights, of which there are more.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from polyopt.graph.winograd.transforms import KERNEL, transforms
from polyopt.scheduler.model.machine import costs_of
from polyopt.scheduler.strategies.contractions.strips import strip_cycles
from polyopt.scheduler.strategies.contractions.tile_sizes import LATENCY, SPARE

if TYPE_CHECKING:
    from polyopt.codegen.target import Target
    from polyopt.graph.winograd.transforms import Matrix

#: bytes of an element
_ELEMENT = 4


@dataclass(frozen=True)
class Layer:
    """A convolution of 3 x 3 weights, stride 1: sizes of results, and blocks of channels."""

    batch: int
    rows: int
    columns: int
    inner: int
    outer: int
    lanes: int

    @property
    def weights(self) -> int:
        """Bytes of one place of the kernel."""
        return self.inner * self.outer * self.lanes**2 * _ELEMENT


def direct_ns(layer: Layer, target: Target) -> float:
    """Nanoseconds of the convolution as it is defined, on one thread."""
    costs = costs_of(target)
    places = layer.batch * layer.rows * layer.columns
    updates = KERNEL * KERNEL * places * layer.inner * layer.lanes * layer.outer
    work = updates * _update(layer.columns, layer.outer, target)
    weights = KERNEL * KERNEL * layer.weights
    frame = _frame(layer, layer.rows + 2, layer.columns + 2, target)
    cycles = max(work, weights / _rate(weights, target)) + frame
    return cycles / costs.clock


def tiled_ns(layer: Layer, tile: int, target: Target) -> float:
    """Nanoseconds of it in tiles of ``tile`` by ``tile`` results, on one thread."""
    costs, forms, width = costs_of(target), transforms(tile), tile + KERNEL - 1
    down, right = ceil(layer.rows / tile), ceil(layer.columns / tile)
    row = width * width * right
    work = row * layer.inner * layer.lanes * layer.outer * _update(right, layer.outer, target)
    between = row * (layer.inner + layer.outer) * layer.lanes * _ELEMENT
    weights = width * width * layer.weights
    sums = min(
        strip_cycles(target, ceil(down / n), n * work, weights, n * between)
        for n in range(1, down + 1)
    )
    span = right * tile + KERNEL - 1
    before = _applied(forms.data, target) * layer.inner * (span + width * right)
    behind = _applied(forms.result, target) * layer.outer * (width + tile) * right
    frame = _frame(layer, down * width, span, target)
    return (layer.batch * (sums + down * (before + behind)) + frame) / costs.clock


def _update(columns: int, blocks: int, target: Target) -> float:
    """Cycles per vector of sums and step, in the best tile of registers that leaves no rest."""
    costs = costs_of(target)
    best = float(LATENCY)
    for across in (n for n in range(1, target.registers) if columns % n == 0):
        for down in (n for n in range(1, target.registers) if blocks % n == 0):
            vectors = across * down
            kept = down if across > 1 else 0
            if vectors + kept + SPARE > target.registers:
                continue
            loads = costs.load * (across + down) / vectors
            best = min(best, max(costs.arithmetic, loads, LATENCY / vectors))
    return best


def _applied(matrix: Matrix, target: Target) -> float:
    """Cycles to apply a transformation to vectors: each is loaded once, each result stored."""
    costs = costs_of(target)
    rows = [[abs(v) for v in row if v] for row in matrix]
    operations = sum(len(row) - 1 + sum(v != 1 for v in row) for row in rows)
    loads = costs.load * len(matrix[0])
    return loads + costs.arithmetic * operations + costs.store * len(rows)


def _frame(layer: Layer, rows: int, columns: int, target: Target) -> float:
    """Cycles to copy the operand into its frame of zeros."""
    costs = costs_of(target)
    return layer.batch * layer.inner * rows * columns * (costs.load + costs.store)


def _rate(size: int, target: Target) -> float:
    """Bytes per cycle of the cache that holds so many."""
    second, last, memory = costs_of(target).bandwidth
    return second if size <= target.l2_bytes else last if size <= target.last_bytes else memory
