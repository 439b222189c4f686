"""Converters of selections by data: their results have valid lengths, see ``ValidLength``."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.ir.graph import ValidLength
from polyopt.graph.onnx.context import converts

if TYPE_CHECKING:
    from polyopt.graph.onnx.context import OnnxNode


def _chosen(node: OnnxNode, flags: str) -> str:
    """The places of the elements of a vector that are true, as many as there are.

    There is room for two or more: an axis of one element could not be told from others.
    """
    if node.shape_of(flags) == (1,):
        flags = node.step("concat", [flags, node.constant(np.zeros(1, np.bool_), "none")], axis=0)
    places = node.step("true_places", [flags])
    ones = node.step("cast", [flags], to="i64")
    count = node.step("reduce_sum", [ones], axes=(0,), keepdims=0)
    node.importer.lengths[places] = ValidLength(places, 0, count)
    return places


def _number(node: OnnxNode, value: int) -> str:
    return node.constant(np.array(value, np.int64), "number")


def _digit(node: OnnxNode, places: str, below: int, extent: int) -> str:
    """The index along one axis of places that count through several, ``below`` elements each: a
    row of a table, as a division for each would cost more."""
    (count,) = node.shape_of(places)
    table = node.constant(np.arange(count) // below % extent, "indices")
    return node.step("gather", [table, places], axis=0, checked=1)


@converts("NonZero")
def _non_zero(node: OnnxNode) -> None:
    shape = node.value(0).shape
    if not shape:
        raise node.unsupported("a tensor without dimensions has no indices")
    flat = node.step("reshape", node.inputs[:1], shape=(prod(shape),))
    places = _chosen(node, _as_flags(node, flat))
    rows = [
        node.step("reshape", [_digit(node, places, prod(shape[d + 1 :]), shape[d])],
                  shape=(1, *node.shape_of(places)))
        for d in range(len(shape))
    ]  # fmt: skip
    node.define("concat", rows, axis=0)


def _as_flags(node: OnnxNode, name: str) -> str:
    """Whether elements are other than 0."""
    kind = node.importer.values[name].dtype
    if kind.kind == "bool":
        return name
    zero = node.constant(np.zeros((), kind.numpy_name), "zero")
    return node.step("logical_not", [node.step("equal", [name, zero])])


@converts("Compress")
def _compress(node: OnnxNode) -> None:
    shape, axis, source = node.value(0).shape, node.get("axis"), node.inputs[0]
    chosen = node.value(1).shape
    if len(chosen) != 1 or (axis is not None and not -len(shape) <= axis < len(shape)):
        raise node.wrong(f"a condition of {list(chosen)} along axis {axis} of {list(shape)}")
    if axis is None:
        shape, axis = (node.value(0).size,), 0
        source = node.step("reshape", [source], shape=shape)
    d = int(axis) % len(shape)
    if chosen[0] > shape[d]:
        raise node.wrong(f"a condition of {chosen[0]} elements is for more than {shape[d]}")
    known = node.importer.known.get(node.inputs[1])
    if known is not None and not known.any():
        node.nothing((*shape[:d], 0, *shape[d + 1 :]))
        return
    places = (
        _chosen(node, node.inputs[1]) if known is None
        else node.constant(np.flatnonzero(known).astype(np.int64), "places")
    )  # fmt: skip
    node.define("gather", [source, places], axis=d, checked=1)


@converts("NonMaxSuppression")
def _suppression(node: OnnxNode) -> None:
    limit = int(node.number(2) or 0)
    if limit < 1:
        node.importer.constant(node.outputs[0], np.empty((0, 3), np.int64), node.span)
        return
    overlap = node.inputs[3] if node.has(3) else node.constant(np.zeros(1, np.float32), "overlap")
    least = node.inputs[4] if node.has(4) else ""
    kept = node.step("non_max_suppression", [*node.inputs[:2], overlap, least],
                     limit=limit, centred=int(node.get("center_point_box", 0)))  # fmt: skip
    batch, classes, most = shape = node.shape_of(kept)
    flat = node.step("reshape", [kept], shape=(prod(shape),))
    places = _chosen(node, node.step("greater_equal", [flat, _number(node, 0)]))
    boxes = node.step("clip", [node.step("gather", [flat, places], axis=0, checked=1)], low=0)
    columns = [
        _digit(node, places, classes * most, batch), _digit(node, places, most, classes), boxes,
    ]  # fmt: skip
    node.define(
        "concat",
        [node.step("reshape", [name], shape=(*node.shape_of(places), 1)) for name in columns],
        axis=1,
    )
