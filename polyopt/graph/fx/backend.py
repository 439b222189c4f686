"""``torch.compile(net, backend="polyopt")``: inference on kernels of ours."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from polyopt.errors import PolyoptError
from polyopt.graph.compiling import compile_model
from polyopt.graph.fx.read import as_array, exported_graph, load_torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_log = logging.getLogger("polyopt")


def backend(module: Any, examples: Sequence[Any]) -> Callable[..., object]:  # noqa: ANN401
    """A function that computes what a traced module does.

    Weights are those of now. Where gradients are wanted, an operator is not taken or a dimension
    is open, the module itself comes back, and the logger ``polyopt`` says why.
    """
    torch = load_torch()
    if torch.is_grad_enabled() and any(getattr(e, "requires_grad", False) for e in examples):
        _log.warning("gradients are wanted: %s runs on PyTorch", type(module).__name__)
        return module.forward
    try:
        program = torch.export.export(module, tuple(examples), strict=False)
        graph = exported_graph(program, frozen=_weights(module, program, examples))
        model = compile_model(graph)
    except PolyoptError as error:
        _log.warning("not taken, runs on PyTorch: %s", error.diagnostic.message)
        return module.forward
    except Exception as error:  # noqa: BLE001  (torch.export raises what tracing raises)
        _log.warning("not exported, runs on PyTorch: %s", error)
        return module.forward
    names = [v.name for v in graph.inputs]
    positions = [k for k, name in enumerate(program.graph_signature.user_inputs) if name in names]

    def run(*given: Any) -> list[object]:  # noqa: ANN401
        arrays = {name: as_array(given[k]) for name, k in zip(names, positions, strict=True)}
        return [torch.from_numpy(result) for result in model.run(arrays)]

    return run


def _weights(module: Any, program: Any, examples: Sequence[Any]) -> Mapping[str, object]:  # noqa: ANN401
    """The inputs of a traced module that are weights of the network, by placeholder.

    Tracing lifts parameters and buffers to inputs and keeps where each comes from.
    """
    parameter = load_torch().nn.Parameter
    traced = [node for node in module.graph.nodes if node.op == "placeholder"]
    result: dict[str, object] = {}
    for name, node, given in zip(
        program.graph_signature.user_inputs, traced, examples, strict=True
    ):
        source = str(getattr(node.meta.get("grapharg"), "source", ""))
        if isinstance(given, parameter) or "_buffers" in source:
            result[name] = given
    return result
