"""Lowering: from isl's AST of a schedule and the IR's expressions to the C tree."""
