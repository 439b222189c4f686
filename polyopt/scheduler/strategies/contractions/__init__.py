"""Contractions: sums of products in register tiles, blocks for each cache, and chains of them."""
