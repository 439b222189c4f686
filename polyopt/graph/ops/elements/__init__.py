"""Operators on single elements."""

from polyopt.graph.ops.elements import activations, bits, comparisons, elementary, pointwise

__all__ = ["activations", "bits", "comparisons", "elementary", "pointwise"]
