"""The operators that come with polyopt: each its stages and the rule for its result."""

from polyopt.graph.ops import (
    blocked,
    comparisons,
    contractions,
    convolutions,
    elementary,
    indexing,
    normalisations,
    pointwise,
    pooling,
    quantised,
    recurrent,
    reductions,
    resizing,
    sampling,
    shapes,
)

__all__ = [
    "blocked", "comparisons", "contractions", "convolutions", "elementary", "indexing",
    "normalisations", "pointwise", "pooling", "quantised", "recurrent", "reductions", "resizing",
    "sampling", "shapes",
]  # fmt: skip
