"""Marked regions of a file: found, extracted as programs, guarded by run-time checks."""
