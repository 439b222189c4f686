"""A planned program as Python loops, for Numba or plain NumPy."""
