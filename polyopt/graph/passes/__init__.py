"""Passes: small frozen objects that rewrite graphs, run and checked by a manager."""

from typing import Final

from polyopt.graph.passes.batch_norm import FoldBatchNorm
from polyopt.graph.passes.cleaning import MergeEqual, RemoveDead
from polyopt.graph.passes.constants import FoldConstants
from polyopt.graph.passes.idioms import FoldIdioms
from polyopt.graph.passes.manager import PassReport, PassStep, Tolerance, run_passes
from polyopt.graph.passes.padding import FoldPads
from polyopt.graph.passes.rewrite import (
    Constant,
    Match,
    Mutator,
    Node,
    Pass,
    Rewrite,
    Tensor,
    Visitor,
)
from polyopt.graph.passes.shapes import InferShapes

#: what ``compile_model`` runs
DEFAULT_PASSES: Final[tuple[Pass, ...]] = (
    InferShapes(), FoldConstants(), FoldIdioms(), FoldPads(), FoldBatchNorm(), MergeEqual(),
    RemoveDead(),
)  # fmt: skip

__all__ = [
    "DEFAULT_PASSES", "Constant", "FoldBatchNorm", "FoldConstants", "FoldIdioms", "FoldPads",
    "InferShapes", "Match", "MergeEqual", "Mutator", "Node", "Pass", "PassReport", "PassStep",
    "RemoveDead", "Rewrite", "Tensor", "Tolerance", "Visitor", "run_passes",
]  # fmt: skip
