"""Passes on the C tree, under the names that compilers give them; ``pipeline`` has their order."""
