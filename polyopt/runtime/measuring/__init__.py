"""Times of kernels: one call again and again, or several forms in turn, and their arguments."""
