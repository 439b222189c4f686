"""Converters of comparisons, logic and choices, and of operators that read at indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.onnx.context import converts, converts_as

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Array
    from polyopt.graph.onnx.context import OnnxNode

converts_as({
    "And": "logical_and", "Equal": "equal", "Greater": "greater",
    "GreaterOrEqual": "greater_equal", "Less": "less", "LessOrEqual": "less_equal",
    "Not": "logical_not", "Or": "logical_or", "Where": "where", "Xor": "logical_xor",
})  # fmt: skip


@converts("CastLike")
def _cast_like(node: OnnxNode) -> None:
    if node.value(0).dtype == node.value(1).dtype:
        node.alias()
        return
    known = node.importer.known.get(node.inputs[0])
    if known is not None and node.value(0).dtype.is_float and node.value(1).dtype.is_float:
        array = known.astype(np.dtype(node.value(1).dtype.numpy_name))
        node.importer.constant(node.outputs[0], array, node.span)
        return
    node.define("cast", node.inputs[:1], to=node.value(1).dtype.name)


@converts("Expand")
def _expand(node: OnnxNode) -> None:
    given, wanted = node.value(0).shape, node.numbers(1, "shape") or ()
    wide = (1,) * (len(given) - len(wanted)) + wanted
    if len(wide) == len(given) and all(w in {1, g} for w, g in zip(wide, given, strict=True)):
        node.alias()
        return
    node.define("expand", node.inputs[:1], shape=wanted)


@converts("Gather")
def _gather(node: OnnxNode) -> None:
    places = _known_places(node)
    axis = int(node.get("axis", 0))
    if places is None:
        node.define("gather", axis=axis)
        return
    x = node.value(0).shape
    d = axis % len(x)
    shape = (*x[:d], *places.shape, *x[d + 1 :])
    if not places.size:
        node.nothing(shape)
        return
    flat = places.ravel()
    step = int(flat[1] - flat[0]) if flat.size > 1 else 1
    if (flat != flat[0] + step * np.arange(flat.size)).any():
        found = node.constant(places, "places")
        node.define("gather", [node.inputs[0], found], axis=axis, checked=1)
        return
    taken = node.step(
        "slice", node.inputs[:1],
        starts=tuple(int(flat[0]) if k == d else 0 for k in range(len(x))),
        steps=tuple(step if k == d else 1 for k in range(len(x))),
        shape=(*x[:d], flat.size, *x[d + 1 :]),
    )  # fmt: skip
    node.define("reshape", [taken], shape=shape)


@converts("GatherElements")
def _gather_elements(node: OnnxNode) -> None:
    places = _known_places(node)
    axis = int(node.get("axis", 0))
    if places is None:
        node.define("gather_elements", axis=axis)
        return
    found = node.constant(places, "places")
    node.define("gather_elements", [node.inputs[0], found], axis=axis, checked=1)


def _known_places(node: OnnxNode) -> Array | None:
    """Indices that are known, counted from the front; nothing where they are data.

    Raises ``GraphError`` for one that is outside.
    """
    known = node.importer.known.get(node.inputs[1])
    shape, axis = node.value(0).shape, int(node.get("axis", 0))
    if not -len(shape) <= axis < len(shape):
        raise node.wrong(f"there is no axis {axis}")
    if known is None:
        return None
    size = shape[axis]
    outside = known[(known < -size) | (known >= size)]
    if outside.size:
        raise node.wrong(f"there is no element {outside.flat[0]} along an axis of {size}")
    return np.where(known < 0, known + size, known).astype(np.int64)


@converts("IsNaN")
def _is_nan(node: OnnxNode) -> None:
    same = node.step("equal", [node.inputs[0], node.inputs[0]])
    node.define("logical_not", [same])
