"""NumPy functions compiled when they are called: the shortest way in."""

from polyopt.specialize.function import FallbackWarning, JitFunction, Signature, jit

__all__ = ["FallbackWarning", "JitFunction", "Signature", "jit"]
