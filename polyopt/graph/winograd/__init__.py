"""Winograd's minimal filtering: its transformations, stages, rounding, and where it is taken."""
