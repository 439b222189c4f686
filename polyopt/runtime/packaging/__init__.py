"""Compiled programs as C libraries and as Python wheels, which need nothing of polyopt."""
