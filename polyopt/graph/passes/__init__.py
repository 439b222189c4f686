"""Passes: small frozen objects that rewrite graphs, run and checked by a manager."""

from typing import Final

from polyopt.codegen.target import Target
from polyopt.codegen.target import target as find_target
from polyopt.graph.passes.batch_norm import FoldBatchNorm
from polyopt.graph.passes.cleaning import MergeEqual, RemoveDead
from polyopt.graph.passes.constants import FoldConstants
from polyopt.graph.passes.idioms import FoldIdioms
from polyopt.graph.passes.layout import SelectLayout
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

#: what ``compile_model`` runs on any machine; ``default_passes`` adds what depends on the target
DEFAULT_PASSES: Final[tuple[Pass, ...]] = (
    InferShapes(), FoldConstants(), FoldIdioms(), FoldPads(), FoldBatchNorm(), MergeEqual(),
    RemoveDead(),
)  # fmt: skip


def default_passes(target: str | Target = "native") -> tuple[Pass, ...]:
    """What ``compile_model`` runs for a target: the layout follows its vectors."""
    lanes = find_target(target).lanes(4) if isinstance(target, str) else target.lanes(4)
    return (*DEFAULT_PASSES, SelectLayout(lanes=lanes), MergeEqual(), RemoveDead())


__all__ = [
    "DEFAULT_PASSES", "Constant", "FoldBatchNorm", "FoldConstants", "FoldIdioms", "FoldPads",
    "InferShapes", "Match", "MergeEqual", "Mutator", "Node", "Pass", "PassReport", "PassStep",
    "RemoveDead", "Rewrite", "SelectLayout", "Tensor", "Tolerance", "Visitor", "default_passes",
    "run_passes",
]  # fmt: skip
