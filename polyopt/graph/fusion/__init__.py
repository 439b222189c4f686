"""Fusion: how nodes read operands, which of them one kernel computes, and its program."""
