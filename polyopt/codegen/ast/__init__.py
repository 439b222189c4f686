"""The C tree: typed expressions, statements, symbols, and how they are walked and rewritten."""
