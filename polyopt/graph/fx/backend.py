"""``torch.compile(net, backend="polyopt")``: inference on kernels of ours."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from polyopt.arguments import checks_arguments
from polyopt.errors import PolyoptError
from polyopt.graph.fx.functional import storage_of
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
        program = _exported(torch, module, examples)
        return Runner(module, program, examples)
    except PolyoptError as error:
        _log.warning("not taken, runs on PyTorch: %s", error.diagnostic.message)
        return module.forward
    except Exception as error:  # noqa: BLE001  (torch.export raises what tracing raises)
        _log.warning("not exported, runs on PyTorch: %s", error)
        return module.forward


def _exported(torch: Any, module: Any, examples: Sequence[Any]) -> Any:  # noqa: ANN401
    """A traced module as an ``ExportedProgram``, apart from the tracing that goes on.

    Exported with that one's tensors, views would leave sizes of what they are views of there, and
    its guards fail on them.
    """
    fakes = import_module("torch._subclasses.fake_tensor")
    shapes = import_module("torch.fx.experimental.symbolic_shapes")
    mode = fakes.FakeTensorMode(shape_env=shapes.ShapeEnv(), allow_non_fake_inputs=True)
    memory: dict[int, Any] = {}

    def same(example: Any) -> Any:  # noqa: ANN401
        """A tensor that lies as this one does, in memory that the same others share."""
        key = storage_of(example)
        if key not in memory:
            size = example.untyped_storage().nbytes()
            memory[key] = torch.empty(size, dtype=torch.uint8).untyped_storage()
        made = torch.empty(0, dtype=example.dtype)
        return made.set_(memory[key], example.storage_offset(), example.shape, example.stride())

    with torch._guards.tracing(None):  # noqa: SLF001
        with mode:
            given = tuple(map(same, examples))
        return torch.export.export(module, given, strict=False)
