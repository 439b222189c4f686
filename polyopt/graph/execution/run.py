"""Running a graph plainly: node by node, as the operators' stages are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.execution.model import Model
from polyopt.graph.fusion.policy import Fusion, choose_groups
from polyopt.graph.ir.graph import array_dtype
from polyopt.graph.kernels import compile_groups
from polyopt.graph.planning import Options
from polyopt.ir.halves import narrowed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.graph.ir.graph import Array, Graph


def run_plainly(graph: Graph, inputs: Mapping[str, Array]) -> tuple[Array, ...]:
    """The outputs of a graph, computed without any schedule: what others are compared with."""
    return plain_model(graph).run(inputs)


def plain_model(graph: Graph) -> Model:
    """A graph compiled without any schedule. While it is kept, equal nodes of others are known.

    What it computes is what others are compared with: its C is not checked but by that.
    """
    grouping = choose_groups(graph, Fusion("off"))
    options = Options(scheduled=False, check=False)
    return Model(graph, grouping, compile_groups(graph, grouping.groups, options), options)


def random_inputs(graph: Graph, seed: int = 0) -> dict[str, Array]:
    """Inputs for a graph: normally distributed, small whole numbers for integers."""
    rng = np.random.default_rng(seed)
    result: dict[str, Array] = {}
    for value in graph.inputs:
        name = array_dtype(value.dtype)
        if value.dtype.is_half:
            drawn = rng.standard_normal(value.shape).astype(np.float32)
            result[value.name] = narrowed(value.dtype, drawn).view(name)
        elif value.dtype.is_float:
            result[value.name] = rng.standard_normal(value.shape).astype(name)
        else:
            most = 2 if value.dtype.kind == "bool" else 100
            result[value.name] = rng.integers(0, most, value.shape).astype(name)
    return result
