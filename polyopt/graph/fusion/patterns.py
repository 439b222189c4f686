"""How a node reads an operand, found out from its stages: which elements each result needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.graph.fusion.lower import group_of, lower, signature
from polyopt.graph.operators import get_operator
from polyopt.isl import IslError, Map, Set, dim_type, sample

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.graph.fusion.lower import Group
    from polyopt.graph.ir.graph import Graph, Node
    from polyopt.graph.operators import Operator
    from polyopt.ir.scop import Scop


@dataclass(frozen=True)
class Pattern:
    """The relation ``{ result[i] -> operand[j] }`` of a node and one operand, summed up.

    ``kind`` is ``pointwise`` (the element at the same place), ``moved`` (one element, each for
    one result), ``broadcast`` (one element, some for several results), ``window`` (neighbours
    along some axes), ``reduction`` (whole axes, each element for one result) or ``contraction``
    (whole axes, each element for several results).
    """

    kind: str
    #: extents of the operand, and elements that one result spans along each axis
    shape: tuple[int, ...]
    spans: tuple[int, ...]
    #: elements of the result, and of the operand
    results: int
    elements: int
    #: how many results read an element of the operand, on average
    reads: float
    #: a result, and an element that it reads and another result stands at; () for pointwise
    clash: tuple[tuple[int, ...], tuple[int, ...]] | tuple[()] = ()

    @property
    def has_halo(self) -> bool:
        """Whether a result reads some but not all elements along an axis, as windows do."""
        return any(1 < span < extent for span, extent in zip(self.spans, self.shape, strict=True))

    def __str__(self) -> str:
        """``window 1x1x3x3``, ``pointwise``, ..."""
        if self.kind in {"pointwise", "moved", "broadcast"}:
            return self.kind
        return f"{self.kind} {'x'.join(map(str, self.spans)) or '1'}"


def patterns(graph: Graph, node: Node) -> Mapping[str, Pattern]:
    """The pattern of each operand of a node, by name; for usual numbers of open sizes."""
    graph = graph.usual
    group = group_of(graph, [node])
    found = _patterns(_Key(signature(graph, group), get_operator(node.op), graph, group))
    return dict(zip(group.inputs, found, strict=True))


@dataclass(frozen=True, eq=False)
class _Key:
    """What the patterns depend on decides equality; where to find it comes along."""

    text: str
    operator: Operator
    graph: Graph
    group: Group

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and (self.text, self.operator) == (
            other.text,
            other.operator,
        )

    def __hash__(self) -> int:
        return hash((self.text, self.operator))


@lru_cache(maxsize=4096)
def _patterns(key: _Key) -> tuple[Pattern, ...]:
    lowered = lower(key.graph, key.group)
    reads = element_reads(lowered.scop, lowered.arrays[key.group.outputs[0]])
    values = key.graph.values
    result = values[key.group.outputs[0]]
    return tuple(
        _pattern(reads.get(lowered.arrays[name]), values[name].shape, result.shape)
        for name in key.group.inputs
    )


def element_reads(scop: Scop, array: str) -> dict[str, Map]:
    """``{ array[i] -> input[j] }`` for each input: what an element is computed from."""
    result: dict[str, Map] = {}
    reached = _reached(scop, array)
    if array in reached:
        return _all_of(scop, array, reached)
    # each array's accesses together: paths through stages would multiply
    steps: dict[str, Map] = {}
    for statement in scop.statements:
        if statement.array != array:
            continue
        back = statement.write.relation.reverse()
        for access in statement.reads:
            if access.array != array:
                # an index that is data may say anything: what is read is in the array
                read = access.relation.intersect_range(scop.elements[access.array])
                _join(steps, access.array, back.apply_range(read))
    for name, step in steps.items():
        if scop.array(name).role == "in":
            _join(result, name, step)
            continue
        for operand, further in element_reads(scop, name).items():
            _join(result, operand, step.apply_range(further))
    return result


def _reached(scop: Scop, array: str) -> set[str]:
    """Arrays that an array is computed from: itself too, where steps follow one another."""
    found: set[str] = set()
    stack = [array]
    while stack:
        name = stack.pop()
        for statement in scop.statements:
            if statement.array != name:
                continue
            own = statement.write.relation
            read = {
                access.array for access in statement.reads
                if access.array != name or not access.relation.is_equal(own)
            }  # fmt: skip
            stack += read - found
            found |= read
    return found


def _all_of(scop: Scop, array: str, reached: set[str]) -> dict[str, Map]:
    """Every element of a recurrence, from all of the inputs that its steps read."""
    writes = [s.write.relation.range() for s in scop.statements if s.array == array]
    elements = reduce(Set.union, writes)
    result: dict[str, Map] = {}
    for statement in scop.statements:
        for access in statement.reads if statement.array in {*reached, array} else ():
            if scop.array(access.array).role == "in":
                whole = Map.from_domain_and_range(elements, access.relation.range())
                _join(result, access.array, whole)
    return result


def _join(found: dict[str, Map], name: str, relation: Map) -> None:
    found[name] = (found[name].union(relation) if name in found else relation).coalesce()


def _pattern(relation: Map | None, shape: tuple[int, ...], result: tuple[int, ...]) -> Pattern:
    """The summary of ``{ result[i] -> operand[j] }``; ``None`` reads nothing."""
    total, elements = _size(result), _size(shape)
    if relation is None or relation.is_empty():
        return Pattern("broadcast", shape, (0,) * len(shape), total, elements, 0.0)
    spans = tuple(_span(relation, d) for d in range(len(shape)))
    touched = about(relation.range(), {})
    reads = about(relation.wrap().flatten(), {}) / max(1, touched)
    kind = _kind(relation, shape, result, spans, reads)
    clash = () if kind == "pointwise" else _clash(relation, shape, result)
    return Pattern(kind, shape, spans, total, elements, reads, clash)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


def _span(relation: Map, axis: int) -> int:
    """The most elements along an axis from the first to the last that one result reads."""
    rank = relation.dim(dim_type.out)
    line = relation.project_out(dim_type.out, axis + 1, rank - axis - 1)
    line = line.project_out(dim_type.out, 0, axis)
    try:
        width = line.dim_max(0).sub(line.dim_min(0)).max_val()
    except IslError:  # ends that have other remainders in parts: pairs of elements, each with each
        width = line.reverse().apply_range(line).deltas().dim_max_val(0)
    return int(width.to_python()) + 1


def _kind(
    relation: Map,
    shape: tuple[int, ...],
    result: tuple[int, ...],
    spans: tuple[int, ...],
    reads: float,
) -> str:
    if max(spans, default=1) == 1:
        if shape == result and _same_place(relation).is_equal(relation):
            return "pointwise"
        return "moved" if reads <= 1 else "broadcast"
    whole = [s == extent and extent > 1 for s, extent in zip(spans, shape, strict=True)]
    if not any(whole):
        return "window"
    return "reduction" if reads <= 1 else "contraction"


def _same_place(relation: Map) -> Map:
    """The part of ``{ [i] -> [j] }`` with ``j == i``."""
    for d in range(relation.dim(dim_type.in_)):
        relation = relation.equate(dim_type.in_, d, dim_type.out, d)
    return relation


def _clash(
    relation: Map, shape: tuple[int, ...], result: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]] | tuple[()]:
    """A result that reads an element at which another result stands, if shapes are equal."""
    if shape != result:
        return ()
    other = relation.subtract(_same_place(relation))
    found = sample(other.wrap().flatten())
    if found is None:
        return ()
    numbers = tuple(found["set"])
    return numbers[: len(result)], numbers[len(result) :]
