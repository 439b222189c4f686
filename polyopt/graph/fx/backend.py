"""``torch.compile(net, backend="polyopt")``: inference on kernels of ours."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from polyopt.arguments import checks_arguments
from polyopt.errors import PolyoptError
from polyopt.graph.fx.pieces import partition
from polyopt.graph.fx.read import export, load_torch
from polyopt.graph.fx.running import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polyopt.graph.fx.pieces import Partition

_log = logging.getLogger("polyopt")


@checks_arguments
def explain_backend(module: object, *arguments: object) -> Partition:
    """The pieces of ``torch.compile(module, backend="polyopt")``: what would run compiled, what on
    PyTorch, and why. Prints as a table.

    Raises ``MissingExtraError`` without PyTorch, ``GraphError`` where
    it cannot export the module.
    """
    return partition(export(load_torch(), module, arguments))


def backend(module: Any, examples: Sequence[Any]) -> Callable[..., object]:  # noqa: ANN401
    """A function that computes what a traced module does, and changes what it changes.

    Weights are constants of it; where one is changed or replaced later, it is compiled anew for
    any. Where gradients are wanted, an operator is not taken or a dimension is open, the module
    itself comes back, and the logger ``polyopt`` says why.
    """
    torch = load_torch()
    if torch.is_grad_enabled() and any(getattr(e, "requires_grad", False) for e in examples):
        _log.warning("gradients are wanted: %s runs on PyTorch", type(module).__name__)
        return module.forward
    if not all(isinstance(e, torch.Tensor) for e in examples):
        _log.warning("a dimension is open: %s runs on PyTorch", type(module).__name__)
        return module.forward
    try:
        program = torch.export.export(module, tuple(examples), strict=False)
        return Runner(module, program, examples)
    except PolyoptError as error:
        _log.warning("not taken, runs on PyTorch: %s", error.diagnostic.message)
        return module.forward
    except Exception as error:  # noqa: BLE001  (torch.export raises what tracing raises)
        _log.warning("not exported, runs on PyTorch: %s", error)
        return module.forward
