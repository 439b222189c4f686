"""Networks from PyTorch: modules by ``torch.export``, and a backend of ``torch.compile``."""

from polyopt.graph.fx.backend import backend, explain_backend
from polyopt.graph.fx.read import from_torch, torch_operators

__all__ = ["backend", "explain_backend", "from_torch", "torch_operators"]
