"""Quantised networks beside ONNX Runtime."""
