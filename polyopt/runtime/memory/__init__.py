"""Memory that calls of kernels have in common."""
