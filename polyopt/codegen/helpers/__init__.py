"""C functions that generated code calls."""
