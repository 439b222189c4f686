"""Transformations of loops: tiling, splitting, interchange, skewing, fusion, rescheduling."""
