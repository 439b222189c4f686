"""The dependences of a program between its instances, as vectors or pairs, for given sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.sets.points import points
from polyopt.errors import NotDecidedError
from polyopt.isl import dim_type, fix_param_values, maps_of, tuple_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.ir.scop import Scop
    from polyopt.isl import Map

    Point = tuple[int, ...]

#: vectors that one dependence has at most, to be told by them
MOST_VECTORS = 24
#: pairs that one dependence has at most where vectors do not tell them
MOST_PAIRS = 600


def dependence_arrows(scop: Scop, sizes: Mapping[str, int]) -> list[dict[str, object]]:
    """One entry per kind, source and sink of value-based dependences, for JSON.

    ``vectors`` are the distances, sink less source, of statements with equally many iterators.
    ``uniform`` says that every pair of instances so far apart depends; else ``pairs`` lists those
    that do, source first, or is left out where they are too many.
    """
    found = scop.dependences()
    kinds = {"flow": lambda: found.flow, "anti": lambda: found.value_anti,
             "output": lambda: found.value_output}  # fmt: skip
    entries: list[dict[str, object]] = []
    for kind, ask in kinds.items():
        try:
            parts = maps_of(ask())
        except NotDecidedError:
            continue  # what is not known is not drawn
        entries += [entry for part in parts for entry in _entry(scop, kind, part, sizes)]
    return entries


def _entry(
    scop: Scop, kind: str, part: Map, sizes: Mapping[str, int]
) -> Iterator[dict[str, object]]:
    source, sink = tuple_name(part, dim_type.in_), tuple_name(part, dim_type.out)
    rank = part.dim(dim_type.in_)
    fixed = fix_param_values(part.intersect_params(scop.context).wrap().flatten(), sizes)
    pairs = [(tuple(row[:rank]), tuple(row[rank:])) for row in points(fixed, sizes).tolist()]
    if not pairs:
        return
    entry: dict[str, object] = {"kind": kind, "source": source, "sink": sink}
    if rank == part.dim(dim_type.out):
        vectors = sorted({tuple(b - a for a, b in zip(*pair, strict=True)) for pair in pairs})
        if len(vectors) <= MOST_VECTORS:
            entry["vectors"] = [list(v) for v in vectors]
            if _is_uniform(scop, (source, sink), pairs, vectors, sizes):
                yield entry | {"uniform": True}
                return
    if len(pairs) <= MOST_PAIRS:
        entry["pairs"] = [[list(a), list(b)] for a, b in pairs]
    yield entry


def _is_uniform(
    scop: Scop,
    ends: tuple[str, str],
    pairs: list[tuple[Point, Point]],
    vectors: list[Point],
    sizes: Mapping[str, int],
) -> bool:
    """Whether all instances that are so far apart depend on each other."""
    starts, stops = (_instances(scop, name, sizes) for name in ends)
    every = {
        (start, stop)
        for start in starts
        for vector in vectors
        if (stop := tuple(a + b for a, b in zip(start, vector, strict=True))) in stops
    }
    return every == set(pairs)


def _instances(scop: Scop, name: str, sizes: Mapping[str, int]) -> set[Point]:
    return {tuple(row) for row in points(scop.statement(name).domain, sizes).tolist()}
