"""Converters of ONNX's operators: each module registers those of one kind."""

from polyopt.graph.onnx.converters import (
    activations,
    choices,
    elements,
    layers,
    moves,
    quantised,
    recurrent,
    sampling,
    scatters,
    selections,
    shapes,
    signals,
)

__all__ = [
    "activations", "choices", "elements", "layers", "moves", "quantised", "recurrent", "sampling",
    "scatters", "selections", "shapes", "signals",
]  # fmt: skip
