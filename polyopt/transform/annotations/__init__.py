"""How loops run and stores write: parallel, vector and unrolled loops, non-temporal stores."""
