"""Constants of fewer than 8 bits, and floats of 8: kept in a wider type that has all their numbers.

What reads numbers alone (``DequantizeLinear``, ``Cast``) and what moves them cannot tell the
difference. What depends on the type, such as how far to saturate, is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import UnsupportedError

if TYPE_CHECKING:
    from polyopt.graph.importer import Importer
    from polyopt.graph.ir.graph import Array
    from polyopt.source import Span

#: type -> the type that has all its numbers
_WIDER = {
    "int2": np.int8, "int4": np.int8, "uint2": np.uint8, "uint4": np.uint8,
    "float4_e2m1fn": np.float32, "float8_e4m3fn": np.float32, "float8_e4m3fnuz": np.float32,
    "float8_e5m2": np.float32, "float8_e5m2fnuz": np.float32,
}  # fmt: skip
_READERS = frozenset({"Cast", "DequantizeLinear"})
_MOVERS = frozenset({"Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})


def keep(importer: Importer, name: str, array: Array, span: Span) -> None:
    """Make an array known. Raises ``UnsupportedError`` for types that nothing here has."""
    wider = _WIDER.get(array.dtype.name)
    if wider is None:
        importer.constant(name, array, span)
        return
    importer.constant(name, array.astype(wider), span)
    importer.narrow[name] = array.dtype.name


def need_readers(importer: Importer, node: Any, span: Span) -> None:  # noqa: ANN401
    """Raises ``UnsupportedError`` for a node that asks for more of a narrow type than numbers."""
    found = next((n for n in node.input if importer.resolve(n) in importer.narrow), None)
    if found is None or node.op_type in _READERS | _MOVERS:
        return
    kind = importer.narrow[importer.resolve(found)]
    raise UnsupportedError(
        f"{node.op_type} reads {found!r}, whose elements are of type {kind}", span=span,
        hint=f"of that type constants are taken, which {', '.join(sorted(_READERS))} read",
    )  # fmt: skip


def pass_on(importer: Importer, node: Any) -> None:  # noqa: ANN401
    """What is moved is of the type that it was."""
    kind = importer.narrow.get(importer.resolve(node.input[0])) if node.input else None
    if kind is None or node.op_type not in _MOVERS:
        return
    for name in node.output:
        importer.narrow[importer.resolve(name)] = kind


def need_no_narrow(importer: Importer, outputs: tuple[str, ...], name: str) -> None:
    """Raises ``UnsupportedError`` for an output of a narrow type."""
    found = next((output for output in outputs if output in importer.narrow), None)
    if found is not None:
        raise UnsupportedError(f"the output {found!r} of {name} has elements of type"
                               f" {importer.narrow[found]}")  # fmt: skip
