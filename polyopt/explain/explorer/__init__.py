"""The explorer: a plan's loops, dependences, tiles, order and cache misses, in a browser."""
