"""The operators that come with polyopt: each its stages and the rule for its result."""

from polyopt.graph.ops import (
    activations,
    bits,
    blocked,
    comparisons,
    contractions,
    convolutions,
    elementary,
    indexing,
    moves,
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
    "activations", "bits", "blocked", "comparisons", "contractions", "convolutions", "elementary",
    "indexing", "moves", "normalisations", "pointwise", "pooling", "quantised", "recurrent",
    "reductions", "resizing", "sampling", "shapes",
]  # fmt: skip
