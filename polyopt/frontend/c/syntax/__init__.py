"""Syntax: C text to a tree, and what is found on the tree alone: names, uses, liveness."""
