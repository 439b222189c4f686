"""Lowering: functions, loops, statements and expressions of C to a Scop."""
