"""Dependences for people: distance vectors, witnesses, and the table of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.errors import Witness
from polyopt.isl import (
    Map,
    Set,
    UnionMap,
    Val,
    dim_type,
    integer_val,
    maps_of,
    params_of,
    sample,
    tuple_name,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.analysis.dependences import Dependences
    from polyopt.ir.scop import Loop, Scop

_WIDTH = 80


@dataclass(frozen=True)
class DependenceRow:
    """All dependences of one kind between two statements through one array."""

    kind: str
    source: str
    sink: str
    array: str
    #: per loop from the outside in: a number, a range ``-1..1``, or a direction: ``<`` is
    #: forward, ``<=`` forward or none, ``>`` backward, ``*`` any
    distance: tuple[str, ...]
    witness: Witness

    @property
    def distance_text(self) -> str:
        """The distance as ``(1, 0)``; ``-`` where the statements have no loop to compare."""
        return f"({', '.join(self.distance)})" if self.distance else "-"

    def as_dict(self) -> dict[str, object]:
        """The row for JSON."""
        return {
            "kind": self.kind,
            "source": self.source,
            "sink": self.sink,
            "array": self.array,
            "distance": list(self.distance),
            "witness": {
                "source": [self.witness.source[0], list(self.witness.source[1])],
                "sink": [self.witness.sink[0], list(self.witness.sink[1])],
                "params": dict(self.witness.params),
            },
        }


def dependence_rows(deps: Dependences) -> tuple[DependenceRow, ...]:
    """Flow, anti and output rows (value-based), in the order of the program's statements."""
    kinds = (("flow", deps.flow), ("anti", deps.value_anti), ("output", deps.value_output))
    return tuple(
        row for kind, relation in kinds for row in _rows_of_kind(deps.scop, kind, relation)
    )


def _rows_of_kind(scop: Scop, kind: str, relation: UnionMap) -> Iterator[DependenceRow]:
    place = {s.name: position for position, s in enumerate(scop.statements)}
    found: list[tuple[int, int, Map]] = [
        (place[tuple_name(m, dim_type.in_)], place[tuple_name(m, dim_type.out)], m)
        for m in maps_of(relation)
    ]
    for source, sink, pairs in sorted(found, key=lambda item: item[:2]):
        # The array is the one that is written: at the sink for anti, else at the source.
        writer = scop.statements[sink if kind == "anti" else source]
        witness = find_witness(scop, kind, pairs)
        if witness is not None:
            names = scop.statements[source].name, scop.statements[sink].name
            distance = distance_vector(pairs)
            yield DependenceRow(kind, *names, writer.array, distance, witness)


def find_witness(scop: Scop, kind: str, pairs: Map | UnionMap) -> Witness | None:
    """The smallest pair of instances, for the smallest parameters; ``None`` without any."""
    if isinstance(pairs, UnionMap):
        parts = maps_of(pairs)
        found = (find_witness(scop, kind, part) for part in parts if not part.is_empty())
        return next((w for w in found if w is not None), None)
    chosen = sample(pairs.intersect_params(scop.context).wrap().flatten())
    if chosen is None:
        return None
    depth = pairs.dim(dim_type.in_)
    source = tuple_name(pairs, dim_type.in_), tuple(chosen["set"][:depth])
    sink = tuple_name(pairs, dim_type.out), tuple(chosen["set"][depth:])
    names = params_of(pairs.get_space())
    params = dict(zip(names, chosen["params"], strict=True))
    cell = _written_cell(scop, sink if kind == "anti" else source, params)
    return Witness(kind, source, sink, params, cell)


def _written_cell(
    scop: Scop, instance: tuple[str, tuple[int, ...]], params: dict[str, int]
) -> tuple[str, tuple[int, ...]] | None:
    """The element that an instance writes."""
    names = {s.name for s in scop.statements}
    if instance[0] not in names:
        return None
    relation = scop.statement(instance[0]).write.relation
    for position, number in enumerate(instance[1]):
        relation = relation.fix_val(dim_type.in_, position, _val(number))
    for name, number in params.items():
        position = relation.find_dim_by_name(dim_type.param, name)
        if position >= 0:
            relation = relation.fix_val(dim_type.param, position, _val(number))
    chosen = sample(relation.range())
    return None if chosen is None else (tuple_name(relation, dim_type.out), tuple(chosen["set"]))


def _val(number: int) -> Val:
    return integer_val(number)


def common_depth(scop: Scop, one: str, other: str) -> int:
    """How many loops of the source surround both statements."""
    paths = [_loops_around(scop.nest, name) or () for name in (one, other)]
    depth = 0
    for a, b in zip(*paths, strict=False):
        if a is not b:
            break
        depth += 1
    return depth


def _loops_around(body: tuple[Loop | str, ...], name: str) -> tuple[Loop, ...] | None:
    for node in body:
        if node == name:
            return ()
        if not isinstance(node, str):
            inner = _loops_around(node.body, name)
            if inner is not None:
                return (node, *inner)
    return None


def distance_vector(pairs: Map) -> tuple[str, ...]:
    """Sink minus source iterators, from the outermost loop inwards; ``pairs`` is a
    ``{ S[i] -> T[k] }``.

    Below the loops that surround both statements, iterators are compared position by position:
    a producer and its consumer usually count the same things.
    """
    depth = min(pairs.dim(dim_type.in_), pairs.dim(dim_type.out))
    return tuple(_component(difference(pairs, position)) for position in range(depth))


def difference(pairs: Map, position: int) -> Set:
    """``{ [k_position - i_position] }`` over all pairs and parameters."""
    for kind in (dim_type.in_, dim_type.out):
        rest = pairs.dim(kind) - position - 1
        pairs = pairs.project_out(kind, position + 1, rest).project_out(kind, 0, position)
    pairs = pairs.reset_tuple_id(dim_type.in_).reset_tuple_id(dim_type.out)
    return pairs.project_out_all_params().deltas()


def _component(values: Set) -> str:
    low, high = (
        bound.to_python() if bound.is_int() else None
        for bound in (values.dim_min_val(0), values.dim_max_val(0))
    )
    match low, high:
        case int(), int():
            return str(low) if low == high else f"{low}..{high}"
        case int(), None:
            return {0: "<=", 1: "<"}.get(low, f"{low}..")
        case None, int():
            return {0: ">=", -1: ">"}.get(high, f"..{high}")
        case _:
            return "*"


def table(rows: tuple[DependenceRow, ...]) -> str:
    """The rows as text of at most 80 columns; a long witness gets a line of its own."""
    head = ("kind", "source", "sink", "array", "distance", "witness")
    cells = [(r.kind, r.source, r.sink, r.array, r.distance_text, _short(r.witness)) for r in rows]
    if not cells:
        return "no dependences"
    widths = [max(len(row[c]) for row in (head, *cells)) for c in range(5)]
    lines: list[str] = []
    for row in (head, *cells):
        fixed = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=False))
        if len(fixed) + 2 + len(row[5]) <= _WIDTH:
            lines.append(f"{fixed}  {row[5]}")
        else:
            lines += [fixed.rstrip(), f"        {row[5]}"]
    return "\n".join(lines)


def _short(witness: Witness) -> str:
    """``[0, 1] -> [1, 1], N = 4``: the statements stand in the row already."""
    ends = (f"[{', '.join(map(str, end[1]))}]" for end in (witness.source, witness.sink))
    sizes = "".join(f", {name} = {number}" for name, number in witness.params.items())
    return " -> ".join(ends) + sizes
