"""Converters of operators that write at indices, and of those that read slices there.

Where indices are constants of the model, it is known where each update goes, and all is checked
while reading. Where they are data, each element looks for its updates. An element of the result is
that of the last update of its place.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from polyopt.graph.onnx.context import converts
from polyopt.graph.places import flat_places, written_slices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.graph.ir.graph import Array
    from polyopt.graph.onnx.context import OnnxNode

#: how updates of one place join -> our operator
_JOINED = {"add": "add", "mul": "mul", "max": "maximum", "min": "minimum"}


@converts("Scatter", "ScatterElements")
def _scatter_elements(node: OnnxNode) -> None:
    if _are_data(node):
        kind, axis = _reduction(node), int(node.get("axis", 0))
        node.define("scatter_elements", node.inputs[:3], axis=axis, reduction=kind)
        return
    shape, given = node.value(0).shape, _indices(node)
    axis = int(node.get("axis", 0))
    if not -len(shape) <= axis < len(shape):
        raise node.wrong(f"there is no axis {axis}")
    d = axis % len(shape)
    _check_updates(node, given.shape)
    fits = given.ndim == len(shape) and all(
        k == d or few <= many for k, (few, many) in enumerate(zip(given.shape, shape, strict=True))
    )
    if not fits:
        raise node.wrong(f"indices {list(given.shape)} do not fit {list(shape)}")
    at: list[Array] = [*np.indices(given.shape, np.int64)]
    at[d] = _counted(node, given, shape[d])
    _written(node, _flat(at, shape).ravel())


@converts("ScatterND")
def _scatter_nd(node: OnnxNode) -> None:
    if _are_data(node):
        _scatter_rows(node)
        return
    shape, given = node.value(0).shape, _indices(node)
    rows = _rows(node, given, shape)
    inner = shape[given.shape[-1] :]
    _check_updates(node, (*given.shape[:-1], *inner))
    _written(node, (rows[..., None] * prod(inner) + np.arange(prod(inner))).ravel())


def _scatter_rows(node: OnnxNode) -> None:
    """Slices written where tuples of data say: rows of the tensor as a matrix."""
    shape, (*lots, depth) = node.value(0).shape, node.value(1).shape
    if not 1 <= depth <= len(shape):
        raise node.wrong(f"tuples of {depth} indices do not fit {list(shape)}")
    _check_updates(node, (*lots, *shape[depth:]))
    tensors = node.inputs[0], _data_rows(node, shape[:depth]), node.inputs[2]
    parts = (), shape[:depth], shape[depth:]
    found = written_slices(node.step, tensors, parts, prod(lots), _reduction(node))
    node.define("reshape", [found], shape=shape)


@converts("GatherND")
def _gather_nd(node: OnnxNode) -> None:
    if _are_data(node) and not node.get("batch_dims", 0):
        _gather_rows(node)
        return
    shape, given = node.value(0).shape, _indices(node)
    batch = int(node.get("batch_dims", 0))
    if not 0 <= batch < min(len(shape), given.ndim) or shape[:batch] != given.shape[:batch]:
        raise node.wrong(f"indices {list(given.shape)} do not fit {batch} batch dimensions"
                         f" of {list(shape)}")  # fmt: skip
    within = shape[batch:]
    rows = _rows(node, given, within)
    depth = given.shape[-1]
    outer, inner = within[:depth], within[depth:]
    lots = np.arange(prod(shape[:batch])).reshape((*shape[:batch], *(1,) * (rows.ndim - batch)))
    places = (rows + lots * prod(outer)).ravel()
    lines = node.step("reshape", node.inputs[:1],
                      shape=(prod(shape[:batch]) * prod(outer), prod(inner)))  # fmt: skip
    found = node.constant(places, "places")
    taken = node.step("gather", [lines, found], axis=0, checked=1)
    node.define("reshape", [taken], shape=(*given.shape[:-1], *inner))


def _gather_rows(node: OnnxNode) -> None:
    """Slices read where tuples of data say."""
    shape, depth = node.value(0).shape, node.value(1).shape[-1]
    if not 1 <= depth <= len(shape):
        raise node.wrong(f"tuples of {depth} indices do not fit {list(shape)}")
    lines = (prod(shape[:depth]), *shape[depth:])
    flat = node.step("reshape", node.inputs[:1], shape=lines)
    node.define("gather", [flat, _data_rows(node, shape[:depth])], axis=0)


def _are_data(node: OnnxNode) -> bool:
    return node.has(1) and node.inputs[1] not in node.importer.known and node.value(1).size > 0


def _data_rows(node: OnnxNode, shape: Sequence[int]) -> str:
    """What each tuple of indices says, counted over the leading dimensions."""
    *lots, depth = node.value(1).shape
    if depth == 1:
        return node.step("reshape", node.inputs[1:2], shape=tuple(lots))
    parts: list[str] = []
    for k in range(depth):
        starts, full = (*(0 for _ in lots), k), (*lots, 1)
        steps = (1,) * len(full)
        one = node.step("slice", node.inputs[1:2], starts=starts, shape=full, steps=steps)
        parts.append(node.step("reshape", [one], shape=tuple(lots)))
    kind = node.value(1).dtype.numpy_name
    return flat_places(node.step, lambda a: node.constant(a, "extent"), parts, kind, shape)


def _reduction(node: OnnxNode) -> str:
    kind = str(node.get("reduction", "none"))
    if kind != "none" and kind not in _JOINED:
        raise node.wrong(f"a reduction is none or {', '.join(_JOINED)}, not {kind!r}")
    return kind


def _indices(node: OnnxNode) -> Array:
    """Indices that are constants. Raises ``UnsupportedError`` for others."""
    found = node.array(1)
    if found is None:
        raise node.wrong("it has no indices")
    if not found.size:
        raise node.unsupported("its indices have 0 elements")
    return found.astype(np.int64)


def _counted(node: OnnxNode, given: Array, size: int) -> Array:
    """Indices from the front. Raises ``GraphError`` for one outside."""
    outside = given[(given < -size) | (given >= size)]
    if outside.size:
        raise node.wrong(f"there is no element {outside.flat[0]} along an axis of {size}")
    return np.where(given < 0, given + size, given)


def _rows(node: OnnxNode, given: Array, shape: Sequence[int]) -> Array:
    """What each tuple of indices says, counted over the leading dimensions."""
    depth = given.shape[-1] if given.ndim else 0
    if not 1 <= depth <= len(shape):
        raise node.wrong(f"tuples of {depth} indices do not fit {list(shape)}")
    at = [_counted(node, given[..., k], shape[k]) for k in range(depth)]
    return _flat(at, shape[:depth])


def _flat(at: Sequence[Array], shape: Sequence[int]) -> Array:
    return np.ravel_multi_index(tuple(at), tuple(shape)).astype(np.int64)


def _check_updates(node: OnnxNode, shape: tuple[int, ...]) -> None:
    found = node.value(2).shape
    if found != shape:
        raise node.wrong(f"updates {list(found)} are not {list(shape)}, as the indices say")
    if node.value(2).dtype != node.value(0).dtype:
        raise node.wrong(f"updates are {node.value(2).dtype}, not {node.value(0).dtype}")


def _written(node: OnnxNode, places: Array) -> None:
    """The first input with updates, in order, at these places of all its elements."""
    kind, shape = _reduction(node), node.value(0).shape
    updates = node.step("reshape", node.inputs[2:3], shape=(places.size,))
    result = node.inputs[0]
    for turn in _turns(places, last=kind == "none"):
        result = _one_each(node, result, updates, places, turn, kind)
    node.define("reshape", [result], shape=shape)


def _turns(places: Array, *, last: bool) -> list[Array]:
    """Numbers of updates in groups that write no place twice; of the last ones alone if asked."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    if last:
        return [order[np.append(ordered[1:] != ordered[:-1], True)]]
    starts = np.maximum.accumulate(
        np.where(np.append(True, ordered[1:] != ordered[:-1]), np.arange(places.size), 0)
    )
    rank = np.arange(places.size) - starts
    return [order[rank == turn] for turn in range(int(rank.max()) + 1)]


def _one_each(
    node: OnnxNode, given: str, updates: str, places: Array, turn: Array, kind: str
) -> str:
    """``given`` with one update at some places."""
    shape = node.value(0).shape
    numbers = np.zeros(prod(shape), np.int64)
    is_met = np.zeros(prod(shape), np.bool_)
    numbers[places[turn]], is_met[places[turn]] = turn, True
    source = node.constant(numbers, "updates")
    values = node.step("gather", [updates, source], axis=0, checked=1)
    shaped = node.step("reshape", [values], shape=shape)
    joined = shaped if kind == "none" else node.step(_JOINED[kind], [given, shaped])
    return node.step("where", [node.constant(is_met.reshape(shape), "met"), joined, given])
