"""Rewrites of the program before it is scheduled: cloned stages, separable filters."""
