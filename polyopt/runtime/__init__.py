"""From C text to a callable: the compiler, the cache, and kernels on NumPy arrays."""
