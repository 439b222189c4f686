"""Remarks on pairs, loops and precision, and the explanation that they make together."""
