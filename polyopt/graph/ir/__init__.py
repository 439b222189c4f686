"""Graphs as values: nodes and tensors, their shapes and types, and whether they are well-formed."""
