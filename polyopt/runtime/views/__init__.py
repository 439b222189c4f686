"""Arrays as people have them: where they lie, and kernels for arrays that lie so."""
