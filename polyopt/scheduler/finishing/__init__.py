"""Finishing steps, in whatever order the loops are: vectors, reductions, threads, stores."""
