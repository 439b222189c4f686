"""Generated C read back as a Scop, for the check of what was printed."""
