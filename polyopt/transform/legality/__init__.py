"""Legality: equal dataflow, parallel and vector loops, and why a plan is refused."""
