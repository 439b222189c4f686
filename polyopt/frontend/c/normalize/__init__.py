"""Normalisation of the tree: calls inlined, one return, subscripts unfolded, names apart."""
