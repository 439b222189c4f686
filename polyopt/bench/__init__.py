"""Measuring: kernels against their unfused form, their peers, and the machine's limits."""
