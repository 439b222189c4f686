"""NumPy functions compiled when they are called: the shortest way in."""

from polyopt.specialize.batch import BatchedFunction, batched
from polyopt.specialize.function import FallbackWarning, JitFunction, Signature, jit

__all__ = ["BatchedFunction", "FallbackWarning", "JitFunction", "Signature", "batched", "jit"]
