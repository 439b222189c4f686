"""Ends of a model: what ONNX declares of its inputs and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polyopt.errors import GraphError, UnsupportedError
from polyopt.graph.ir.graph import Value, array_dtype, value_of
from polyopt.graph.onnx.weights import read_weights
from polyopt.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.graph.importer import Importer


def read_inputs(
    onnx: Any,  # noqa: ANN401
    proto: Any,  # noqa: ANN401
    importer: Importer,
    sizes: Mapping[str, int],
    name: str,
) -> tuple[Value, ...]:
    """The inputs that have to be given, and the model's own arrays made known.

    Raises ``GraphError`` for damaged arrays and wrong ``sizes``, ``UnsupportedError`` for inputs
    that are no tensors of known sizes and types.
    """
    read_weights(importer, proto.graph, name, Span(Source(name, ""), 1))
    if proto.graph.sparse_initializer:
        raise UnsupportedError(f"{name} has sparse weights")
    found: list[Value] = []
    for entry in proto.graph.input:
        if entry.name in importer.known:
            continue
        value = _declared(onnx, proto, entry, sizes, name)
        importer.values[entry.name] = value
        if not value.size:  # nothing of it is left to be known
            importer.known[entry.name] = np.empty(value.shape, array_dtype(value.dtype))
        found.append(value)
    known = {label for label, _ in _open_axes(proto)}
    unused = sizes.keys() - known
    if unused:
        listed = ", ".join(sorted(known)) or "none"
        raise GraphError(f"{name} has no open dimension {min(unused)!r}", hint=f"open: {listed}")
    return tuple(found)


def _open_axes(proto: Any) -> list[tuple[str, int]]:  # noqa: ANN401
    """Name and axis of each dimension of an input that the model leaves open."""
    weights = {tensor.name for tensor in proto.graph.initializer}
    return [
        (dim.dim_param or f"{entry.name}.{axis}", axis)
        for entry in proto.graph.input
        if entry.name not in weights
        for axis, dim in enumerate(entry.type.tensor_type.shape.dim)
        if dim.WhichOneof("value") != "dim_value"
    ]


def open_sizes_of(
    proto: Any,  # noqa: ANN401
    sizes: Mapping[str, int],
    usual: Mapping[str, int],
    name: str,
) -> dict[str, int]:
    """First dimensions that stay open, and others that ``usual`` names, with the number to be fast
    for. Raises ``GraphError``."""
    given = [(label, axis) for label, axis in _open_axes(proto) if label not in sizes]
    free = {label: usual.get(label, 1) for label, axis in given if not axis or label in usual}
    wrong = next((label for label in usual if label not in free or usual[label] < 1), None)
    if wrong is not None:
        listed = ", ".join(dict.fromkeys(label for label, _ in given)) or "none"
        raise GraphError(f"usual={{{wrong!r}: {usual[wrong]}}} is no size that {name} leaves open",
                         hint=f"open dimensions: {listed}")  # fmt: skip
    return free


def _declared(
    onnx: Any,  # noqa: ANN401
    proto: Any,  # noqa: ANN401
    entry: Any,  # noqa: ANN401
    sizes: Mapping[str, int],
    name: str,
) -> Value:
    kind, what = entry.type.tensor_type, f"the input {entry.name!r} of {name}"
    readers = [node.op_type for node in proto.graph.node if entry.name in node.input]
    others = ", ".join(sorted({node.op_type for node in proto.graph.node}))
    notes = [f"{readers[0]} reads it" if readers else f"nothing reads it; operators: {others}"]
    _need_tensor_type(entry, what, notes)
    if not kind.HasField("shape"):
        raise UnsupportedError(f"{what} is no tensor of known rank", notes=notes)
    shape: list[int] = []
    for axis, dim in enumerate(kind.shape.dim):
        given = dim.dim_value if dim.WhichOneof("value") == "dim_value" else None
        label = dim.dim_param or f"{entry.name}.{axis}"
        extent = sizes.get(label) if given is None else given
        if extent is None:
            raise UnsupportedError(
                f"axis {axis} of {what} is left open",
                hint=f"say how long it is: sizes={{{label!r}: 1}}",
            )
        if extent < (given is None):  # a model may say itself that there is nothing
            raise GraphError(f"axis {axis} of {what} has {extent} elements")
        shape.append(int(extent))
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
        return Value(entry.name, tuple(shape), value_of("", np.empty(0, dtype)).dtype)
    except (KeyError, TypeError):
        raise UnsupportedError(
            f"{what} has elements of a type that is not taken: {_type_name(onnx, kind.elem_type)}",
            notes=notes, hint="convert the model to float32",
        ) from None  # fmt: skip


def _type_name(onnx: Any, number: int) -> str:  # noqa: ANN401
    """ONNX's name of a type of elements."""
    known = {value: name for name, value in onnx.TensorProto.DataType.items()}
    return str(known.get(number, number)).lower()


def _need_tensor_type(entry: Any, what: str, notes: list[str]) -> None:  # noqa: ANN401
    """Raises ``UnsupportedError`` for sequences, optionals, maps and sparse tensors."""
    kind = entry.type.WhichOneof("value") or "tensor_type"
    if kind != "tensor_type":
        found = {"optional_type": "an optional", "sparse_tensor_type": "a sparse tensor"}
        shown = found.get(kind, f"a {kind.removesuffix('_type')}")
        raise UnsupportedError(f"{what} is {shown}, which is not taken", notes=notes)


def check_output(
    proto: Any,  # noqa: ANN401
    entry: Any,  # noqa: ANN401
    value: Value,
    name: str,
    free: int | None = None,
) -> None:
    """What the model says of an output has to be so, but for the extent of an axis whose length
    depends on data.

    Raises ``GraphError`` where it is not, ``UnsupportedError`` for an output that is no tensor.
    """
    makers = [node.op_type for node in proto.graph.node if entry.name in node.output]
    notes = [f"{makers[0]} makes it"] if makers else []
    _need_tensor_type(entry, f"the output {entry.name!r} of {name}", notes)
    kind = entry.type.tensor_type
    if not kind.HasField("shape"):
        return
    said = [d.dim_value if d.WhichOneof("value") == "dim_value" else None for d in kind.shape.dim]
    fits = len(said) == len(value.shape) and all(
        s is None or s == e or d == free
        for d, (s, e) in enumerate(zip(said, value.shape, strict=True))
    )
    if not fits:
        shown = ", ".join("?" if s is None else str(s) for s in said)
        raise GraphError(f"{name} says that {entry.name!r} has the shape [{shown}], it has {value}")
