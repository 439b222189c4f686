"""Fusion of producers into consumers, and where values live: windows, buffers, packing."""
