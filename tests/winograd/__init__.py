"""Winograd's convolutions beside direct ones and ONNX Runtime: errors and times, layer by layer."""
