"""NumPy's functions over whole arrays, and those of single elements."""
