"""Loops that threads share: nested ones as one, and their bodies as functions."""
