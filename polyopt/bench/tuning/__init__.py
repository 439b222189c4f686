"""Measured tuning: plans with other tile sizes, timed against each other."""
