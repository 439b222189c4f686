"""What compilers say of the loops that they compiled, read and kept."""
