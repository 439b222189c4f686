"""The operators that come with polyopt: each its stages and the rule for its result."""

from polyopt.graph.ops import (
    attention,
    blocked,
    contractions,
    convolutions,
    elements,
    indexing,
    moves,
    normalisations,
    pooling,
    quantised,
    recurrent,
    reductions,
    resizing,
    sampling,
    selections,
    shapes,
)
from polyopt.graph.winograd import stages

__all__ = [
    "attention", "blocked", "contractions", "convolutions", "elements", "indexing", "moves",
    "normalisations", "pooling", "quantised", "recurrent", "reductions", "resizing", "sampling",
    "selections", "shapes", "stages",
]  # fmt: skip
