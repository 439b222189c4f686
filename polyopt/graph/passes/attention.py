"""Attention in what it is written out as: two products with a softmax between.

rewrite: ``matmul(softmax(matmul(q a, transpose(k) b) + mask), v)`` ->
``attention(q, k, v, mask, scale=a b)``; a constant mask that hides what is beyond a diagonal alone
becomes ``diagonal``

The sums of the powers are divided by in the end (``(sum e v) / sum e`` for ``sum (e / sum e) v``)
and constant factors of queries and keys come together: equal but for rounding, once less for each
element of the matrices between, which are then computed in tiles and never stored as a whole.

*Does not handle* fewer queries, keys, or elements of them than a contraction in blocks has, keys of
fewer heads than queries, and scores that something else reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, cast

import numpy as np

from polyopt.graph.operators import normal_axis
from polyopt.graph.ops.attention import BLOCK
from polyopt.graph.passes.base import Builder, Pass
from polyopt.ir.types import BOOL
from polyopt.scheduler.strategies.contractions.matmul import SHORTEST

if TYPE_CHECKING:
    from polyopt.graph.ir.graph import Array, Graph, Node


#: what is added to scores that nobody is to see: exporters write the least float, or minus infinity
_HIDDEN = -1e30


@dataclass(frozen=True)
class FuseAttention(Pass):
    """Makes products with keys, softmax and products with values one operator."""

    def run(self, graph: Graph) -> Graph:
        """The graph with these operators; the same object where there are none."""
        new = Builder(graph)
        found = [_is_replaced(graph, node, new) for node in graph.nodes]
        return new.built() if any(found) else graph


@dataclass(frozen=True)
class _Scaled:
    """A tensor times a number."""

    tensor: str
    factor: float = 1.0


def _is_replaced(graph: Graph, node: Node, new: Builder) -> bool:
    """Add a node, or attention where it is the last of one; whether it is."""
    weights = _only(graph, node.inputs[0], "softmax") if node.op == "matmul" else None
    if weights is None or not _is_last_axis(graph, weights):
        new.nodes.append(node)
        return False
    scores, mask = _masked(graph, weights.inputs[0])
    scaled = _scaled(graph, scores)
    product = _only(graph, scaled.tensor, "matmul")
    if product is None:
        new.nodes.append(node)
        return False
    query, turned = (_scaled(graph, name) for name in product.inputs)
    fits = _fits(graph, (query.tensor, turned.tensor, node.inputs[1]), mask)
    scale = _scale(graph, query, turned, scaled) if fits else 0.0
    if not scale:
        new.nodes.append(node)
        return False
    key = _turned_back(graph, turned.tensor, new)
    mask, diagonal = _causal(graph, mask, graph.values[product.name].shape)
    inputs = [query.tensor, key, node.inputs[1], *([mask] if mask else [])]
    new.node(node.name, "attention", inputs, scale=scale, diagonal=diagonal)
    return True


def _scale(graph: Graph, *scaled: _Scaled) -> float:
    """The product of all factors in the type of the scores; 0 where that does not hold it."""
    limits = np.finfo(graph.values[scaled[0].tensor].dtype.numpy_name)
    product = prod(one.factor for one in scaled)
    if not float(limits.tiny) <= abs(product) <= float(limits.max):
        return 0.0
    return float(limits.dtype.type(product))


def _only(graph: Graph, name: str, op: str) -> Node | None:
    """The node of an operator that computes a tensor for one reader alone."""
    node = graph.makers.get(name)
    if node is None or node.op != op or name in graph.outputs or len(graph.readers[name]) != 1:
        return None
    return node


def _is_last_axis(graph: Graph, softmax: Node) -> bool:
    rank = len(graph.values[softmax.name].shape)
    return normal_axis(int(dict(softmax.attributes).get("axis", -1)), rank) == rank - 1  # type: ignore[arg-type]


def _masked(graph: Graph, name: str) -> tuple[str, str]:
    """What scores are before a mask, and the mask; "" for none.

    A mask is added, or of booleans that choose between scores and minus infinity.
    """
    node = _only(graph, name, "add")
    if node is not None:
        for scores, mask in (node.inputs, node.inputs[::-1]):
            if _only(graph, _scaled(graph, scores).tensor, "matmul") is not None:
                return scores, mask
    node = _only(graph, name, "where")
    if node is not None:
        seen, scores, hidden = node.inputs
        constant = graph.constants.get(hidden)
        same = graph.values[scores].shape == graph.values[name].shape
        if same and constant is not None and bool(np.all(constant == -np.inf)):
            return scores, seen
    return name, ""


def _scaled(graph: Graph, name: str) -> _Scaled:
    """A tensor as another one times a constant, where it is that."""
    for op in ("mul", "div"):
        node = _only(graph, name, op)
        if node is None:
            continue
        for tensor, other in (node.inputs, node.inputs[::-1])[: 1 if op == "div" else 2]:
            constant = graph.constants.get(other)
            if constant is None or constant.size != 1 or constant.dtype.kind != "f":
                continue
            if graph.values[tensor].shape == graph.values[name].shape:
                factor = float(constant.ravel()[0])
                if op == "mul" or factor != 0:
                    return _Scaled(tensor, factor if op == "mul" else 1 / factor)
    return _Scaled(name)


def _causal(graph: Graph, mask: str, scores: tuple[int, ...]) -> tuple[str, int]:
    """A mask, and the least ``k`` for which it hides all keys ``n > m + k`` of each query ``m``.

    "" for one that does no more than that; -1 where that leaves nothing out of what is computed, or
    a query sees no key at all.
    """
    given = graph.constants.get(mask)
    if given is None or given.shape[-2:] != tuple(map(int, scores[-2:])):
        return mask, -1
    seen = given if given.dtype == bool else given > _HIDDEN
    flat = seen.reshape(-1, *seen.shape[-2:])
    if not flat.any(axis=-1).all():
        return mask, -1
    rows, columns = np.nonzero(flat.any(axis=0))
    found = max(0, int((columns - rows).max()))
    if found + BLOCK >= seen.shape[-1]:
        return mask, -1
    triangle = np.tri(int(seen.shape[-2]), int(seen.shape[-1]), found, dtype=np.bool_)
    is_all = np.array_equal(flat, np.broadcast_to(triangle, flat.shape))
    return "" if is_all and _adds_nothing(given, seen) else mask, found


def _adds_nothing(mask: Array, seen: Array) -> bool:
    """Whether a mask is added, and leaves all scores as they are that it does not hide: booleans
    hide infinities as well."""
    return mask.dtype != bool and not mask[seen].any()


def _turned_back(graph: Graph, name: str, new: Builder) -> str:
    """A tensor with its last two dimensions in the other order: the operand of a transposition,
    seen through changes of the dimensions before, where it is one."""
    shape, node = graph.values[name].shape, graph.makers.get(name)
    rank = len(shape)
    perm: tuple[int, ...] = (*range(rank - 2), rank - 1, rank - 2)
    operand = name
    if node is not None and node.op == "reshape":
        before = graph.values[node.inputs[0]].shape
        if len(before) > 1 and before[-2:] == shape[-2:]:
            found = _turned_back(graph, node.inputs[0], new)
            wanted = tuple(map(int, (*shape[:-2], shape[-1], shape[-2])))
            return new.node(new.fresh(f"{name}_turned"), "reshape", [found], shape=wanted)
    if node is not None and node.op == "transpose":
        own = cast("tuple[int, ...]", dict(node.attributes)["perm"])
        operand, perm = node.inputs[0], tuple(own[d] for d in perm)
        if perm == tuple(range(rank)):
            return operand
    return new.node(new.fresh(f"{name}_turned"), "transpose", [operand], perm=perm)


def _fits(graph: Graph, operands: tuple[str, str, str], mask: str) -> bool:
    """Whether queries, transposed keys and values are of one form, and long enough for blocks."""
    query, key, value = (graph.values[name] for name in operands)
    if (
        query.dtype.name not in {"f32", "f64"}
        or len({len(v.shape) for v in (query, key, value)}) != 1
    ):
        return False
    if len(query.shape) < 2 or not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        return False
    if mask:
        given = graph.values[mask]
        if given.dtype not in {BOOL, query.dtype} or len(given.shape) > len(query.shape):
            return False
        wanted = (*query.shape[:-1], key.shape[-1])
        sizes = zip(given.shape[::-1], wanted[::-1], strict=False)
        if any(size not in {1, whole} for size, whole in sizes):
            return False
    return min(*map(int, query.shape[-2:]), *map(int, value.shape[-2:])) >= SHORTEST
