"""Strategies: tiling, fusion, inlining and blocking of producers and consumers."""
