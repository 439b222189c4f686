"""Interval analysis of integer tensors, and which indices are inside by it.

An operator that reads or writes at indices of data is right where they are inside. Of indices that
are known, or computed from what has bounds, that is shown here; of a caller's it is checked at each
call; others are refused, unless what is outside has a value of its own (NaN, of ``gather``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from polyopt.errors import UnsupportedError
from polyopt.graph.ir.open import Open
from polyopt.graph.ir.show import node_span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from polyopt.graph.ir.graph import Array, Graph, Node, Value

#: the least and the greatest element
Interval = tuple[int, int]

#: their elements are their first operand's
_MOVES = frozenset({
    "expand", "gather", "gather_elements", "reshape", "slice", "tile", "transpose", "windows",
    "reduce_max", "reduce_min", "top_k",
})  # fmt: skip
#: moves that leave no element out
_WHOLE_MOVES = frozenset({"expand", "reshape", "tile", "transpose"})
#: operators that read or write along an axis at the indices of their second operand
_INDEXED = frozenset({"gather", "gather_elements", "scatter_elements"})
#: all operators of which an operand says where others are read or written
_ADDRESSED = _INDEXED | {"reverse_sequence", "write_rows"}


@dataclass(frozen=True)
class IndexCheck:
    """The elements of an input have to be in ``low .. high``: a node takes them as indices."""

    name: str
    low: int
    high: int
    node: str


def index_checks(graph: Graph) -> tuple[IndexCheck, ...]:
    """What has to be checked of inputs at each call.

    Where a size is left open, indices along it are checked as for its usual number: a model does
    so for the number that it is called with. Raises ``UnsupportedError`` for indices that are
    computed, of which it is not shown that they are inside, where that is needed.
    """
    needed = [(node, bounds) for node in graph.nodes if (bounds := _bounds(graph, node))]
    if not needed:
        return ()
    found = intervals(graph)
    checks: list[IndexCheck] = []
    for node, (operand, least, most) in needed:
        name = node.inputs[operand]
        low, high = found.get(name, (0, -1))
        if low <= high and least <= low and high <= most:
            continue
        source = _source(graph, name)
        if source not in {value.name for value in graph.inputs}:
            raise UnsupportedError(
                f"indices {name!r} of {node.op} {node.origin or node.name!r} are"
                f" computed, and not shown to be in {least} .. {most}",
                span=node_span(graph, node),
                hint="clip them to the axis: what is written or read outside is not defined",
            )
        checks.append(IndexCheck(source, least, most, node.origin or node.name))
    return tuple(checks)


def _bounds(graph: Graph, node: Node) -> tuple[int, int, int] | None:
    """Which operand of a node has to be in which bounds; nothing where NaN says that it is not."""
    options = dict(node.attributes)
    if node.op not in _ADDRESSED or options.get("checked"):
        return None
    if graph.values[node.inputs[0]].dtype.is_float:
        return None
    if node.op in _INDEXED:
        size = _axis_size(graph, node, cast("int", options.get("axis", 0)))
        return 1, -size, size - 1
    if node.op == "reverse_sequence":
        return 1, 0, _axis_size(graph, node, cast("int", options.get("time", 0)))
    if node.op == "write_rows" and len(node.inputs) == 3 and not options.get("circular"):
        axis = cast("int", options.get("axis", -2))
        rows = graph.values[node.inputs[1]].shape[axis]
        return 2, 0, _axis_size(graph, node, axis) - int(rows)
    return None


def _axis_size(graph: Graph, node: Node, axis: int) -> int:
    return int(graph.values[node.inputs[0]].shape[axis])


def _source(graph: Graph, name: str) -> str:
    """The tensor whose elements these are, moved and made wider."""
    while (node := graph.makers.get(name)) is not None:
        given = graph.values[node.operands[0]].dtype if node.operands else None
        is_wider = node.op == "cast" and given is not None and _holds(graph, name, given.range)
        if node.op not in _WHOLE_MOVES and not is_wider:
            break
        name = node.operands[0]
    return name


def _holds(graph: Graph, name: str, interval: Interval) -> bool:
    """Whether a tensor's type is one of integers, with all numbers of an interval."""
    kind = graph.values[name].dtype
    if kind.is_float:
        return False
    low, high = kind.range
    return low <= interval[0] and interval[1] <= high


# -- intervals ----------------------------------------------------------------------------------


def intervals(graph: Graph) -> Mapping[str, Interval]:
    """Least and greatest element that integer tensors can have, of those of which more is known
    than their type."""
    found: dict[str, Interval] = {}
    for name, array in graph.constants.items():
        if array.dtype.kind in "iub" and array.size:
            found[name] = _of_array(array)
    for node in graph.nodes:
        made = _of_node(graph, node, found)
        if made is not None and _holds(graph, node.name, made):
            found[node.name] = made
    return found


def _of_array(array: Array) -> Interval:
    return int(array.min()), int(array.max())


def _of_node(graph: Graph, node: Node, found: Mapping[str, Interval]) -> Interval | None:
    if graph.values[node.name].dtype.is_float:
        return None
    extent = _places(node, graph.values)
    if extent is not None:
        return 0, extent - 1
    if node.op == "non_max_suppression":
        return -1, int(graph.values[node.inputs[0]].shape[1]) - 1
    given = [found.get(name) for name in node.operands]
    full = graph.values[node.name].dtype.range
    if node.op in _BOUNDS:
        return _BOUNDS[node.op](node, given, full)
    if node.op in _MOVES or node.op == "cast":
        return given[0] if given else None
    parts = given[1:] if node.op == "where" else given
    if not parts or None in parts:
        return None
    known = cast("list[Interval]", parts)
    if node.op in {"concat", "where"}:
        return min(low for low, _ in known), max(high for _, high in known)
    corner = _CORNERS.get(node.op)
    return _over_corners(corner, known) if corner is not None and len(known) == 2 else None


def _places(node: Node, values: Mapping[str, Value]) -> int | None:
    """How many places there are, of an operator that makes places along an axis."""
    options = dict(node.attributes)
    if node.op in {"arg_max", "arg_min", "top_k_places", "true_places"}:
        extent = values[node.inputs[0]].shape[
            cast("int", options.get("axis", _PLACE_AXIS[node.op]))
        ]
        return None if isinstance(extent, Open) else extent
    return None


#: the axis of operators that make places, where they name none
_PLACE_AXIS = {"arg_max": 0, "arg_min": 0, "top_k_places": -1, "true_places": 0}


def _clipped(node: Node, given: Sequence[Interval | None], full: Interval) -> Interval:
    low, high = given[0] or full
    least, most = (dict(node.attributes).get(name) for name in ("low", "high"))
    if isinstance(least, int | float):
        low, high = max(low, int(least)), max(high, int(least))
    if isinstance(most, int | float):
        low, high = min(low, int(most)), min(high, int(most))
    return low, high


def _rest(_node: Node, given: Sequence[Interval | None], _full: Interval) -> Interval | None:
    """Of a division by what is above 0; it has the divisor's sign."""
    by = given[1]
    return (0, by[1] - 1) if by is not None and by[0] > 0 else None


def _quotient(_node: Node, given: Sequence[Interval | None], _full: Interval) -> Interval | None:
    """Of a division by what is above 0, rounded down."""
    one, by = given
    if one is None or by is None or by[0] <= 0:
        return None
    return _over_corners(lambda a, b: a // b, [one, by])


#: operators that bound what they make, whatever of their operands is known
_BOUNDS: Mapping[str, Callable[[Node, Sequence[Interval | None], Interval], Interval | None]] = {
    "clip": _clipped,
    "floor_divide": _quotient,
    "remainder": _rest,
}

#: operators of two operands that are monotonic in each: extremes are among those of the corners
_CORNERS: Mapping[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "maximum": max,
    "minimum": min,
    "mul": lambda a, b: a * b,
    "sub": lambda a, b: a - b,
}


def _over_corners(of: Callable[[int, int], int], known: list[Interval]) -> Interval:
    values = list(_corners(of, *known))
    return min(values), max(values)


def _corners(of: Callable[[int, int], int], one: Interval, other: Interval) -> Iterator[int]:
    for a in one:
        for b in other:
            yield of(a, b)


def outside(check: IndexCheck, given: Array) -> int | None:
    """An element that is outside of what a check says, or ``None``."""
    if not given.size:
        return None
    low, high = _of_array(given)
    return low if low < check.low else high if high > check.high else None
