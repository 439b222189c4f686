"""The arrays that a graph of ONNX comes with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from polyopt.errors import GraphError
from polyopt.graph.onnx.narrow import keep

if TYPE_CHECKING:
    from polyopt.graph.importer import Importer
    from polyopt.source import Span


def read_weights(importer: Importer, graph: Any, name: str, where: Span) -> None:  # noqa: ANN401
    """Make a graph's arrays known. Raises ``GraphError`` for damaged ones."""
    import onnx

    for tensor in graph.initializer:
        try:
            array = onnx.numpy_helper.to_array(tensor)
        except Exception as error:  # noqa: BLE001  (sizes that do not match, types that NumPy has not)
            raise GraphError(f"the weights {tensor.name!r} of {name} are damaged or missing",
                             notes=[str(error).splitlines()[0]]) from None  # fmt: skip
        keep(importer, tensor.name, array, where)
