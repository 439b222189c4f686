"""A program restricted to a box of its results: footprints, rebased arrays, and its proof."""
