"""Nodes that take the place of one: bodies that ONNX has, and those of other domains."""
