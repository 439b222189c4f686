"""Networks from ONNX files."""

from polyopt.graph.onnx.read import load_onnx, onnx_operators

__all__ = ["load_onnx", "onnx_operators"]
