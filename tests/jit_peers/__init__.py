"""Functions as the documentation of numba, Pythran and JAX shows them, compiled by each."""
