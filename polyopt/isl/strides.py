"""Strides in last writes: where isl's lexicographic maximum may be wrong, and is looked over.

Where equalities leave an output dimension ``i`` in one residue class, ``i = f mod n``, isl (0.27
and 0.28) looks for two constraints that keep ``i`` within ``n`` values: then ``i`` is known. It
compares their coefficients up to ``i`` only, which is enough where its constraints are sorted;
those of a relation that was just composed are not. There ``i >= 0`` and ``i <= 3q + 2`` are taken
for such constraints, and the maximum that is found is that of a part of the relation.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from math import gcd
from typing import TYPE_CHECKING

from polyopt.isl.algebra import maps_of, tuple_name
from polyopt.isl.api import dim_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from polyopt.isl.api import BasicMap, Map, UnionMap

#: a variable: its kind, and which one of the kind it is; what is sought and what is projected out
#: comes after what is given
Key = tuple[int, int | str]
#: an equality, as coefficients of variables; its constant does not matter
Row = dict[Key, int]
#: the equalities of one piece of a relation
Piece = frozenset[tuple[tuple[Key, int], ...]]
_PARAMETER, _PREFIX, _READ, _TIME, _WRITE, _CELL, _DIV = range(-3, 4)


def strided(
    reads: UnionMap, writes: UnionMap, times: UnionMap, found: UnionMap
) -> Iterator[tuple[Map, list[Map]]]:
    """Reads ``{ R[e] -> A[x] }``, each with the writes of which the last may have a stride.

    ``found``, ``{ W[d] -> [R[e] -> A[x]] }``, is what isl has found: where that has a stride, what
    it has sought between that and the read has one, too.
    """
    sides = _sides(writes, times)
    known = {_read_of(part) for part in maps_of(found) if _found_has_stride(part)}
    seen: dict[tuple[frozenset[Piece], _Side], bool] = {}
    for read in maps_of(reads):
        pieces = _pieces(read, (_READ, _CELL, _DIV))
        into = sides.get(tuple_name(read, dim_type.out), [])
        for side in into:
            if (pieces, side) not in seen:
                seen[pieces, side] = side.has_stride(pieces)
        is_known = tuple_name(read, dim_type.in_) in known
        hit = [side.write for side in into if is_known or seen[pieces, side]]
        if hit:
            yield read, hit


@dataclass(frozen=True, eq=False)
class _Side:
    """A write ``{ W[d] -> A[x] }`` with its time."""

    write: Map
    pieces: frozenset[Piece]
    #: of ``{ W[d] -> [t] }``
    times: frozenset[Piece]
    columns: int

    def has_stride(self, reads: frozenset[Piece]) -> bool:
        several = product(reads, self.pieces, self.times)
        return any(_has_stride(one | other | at, self.columns) for one, other, at in several)


def _sides(writes: UnionMap, times: UnionMap) -> dict[str, list[_Side]]:
    """The writes of each array."""
    when: dict[str, list[Map]] = {}
    for time in maps_of(times):
        when.setdefault(tuple_name(time, dim_type.in_), []).append(time)
    result: dict[str, list[_Side]] = {}
    for write in maps_of(writes):
        at = when.get(tuple_name(write, dim_type.in_), [])
        pieces = (_pieces(time, (_WRITE, _TIME, _DIV + 2)) for time in at)
        columns = max((time.dim(dim_type.out) for time in at), default=0)
        here = _pieces(write, (_WRITE, _CELL, _DIV + 1))
        side = _Side(write, here, frozenset[Piece]().union(*pieces), columns)
        result.setdefault(tuple_name(write, dim_type.out), []).append(side)
    return result


def _read_of(found: Map) -> str:
    return tuple_name(found.get_space().range().unwrap(), dim_type.in_)


def _found_has_stride(found: Map) -> bool:
    return any(_has_stride(piece, 0) for piece in _pieces(found, (_WRITE, _READ, _DIV)))


def _pieces(relation: Map, kinds: tuple[int, int, int]) -> frozenset[Piece]:
    """The equalities of each piece; the kinds are of its input, its output and existentials."""
    return frozenset(
        frozenset(tuple(row.items()) for row in _rows(piece, kinds))
        for piece in relation.get_basic_maps()
    )


def _rows(piece: BasicMap, kinds: tuple[int, int, int]) -> Iterator[Row]:
    order = (dim_type.param, dim_type.in_, dim_type.out, dim_type.div)
    matrix = piece.equalities_matrix(dim_type.cst, *order)
    names = [piece.get_dim_name(dim_type.param, k) for k in range(piece.dim(dim_type.param))]
    keys: list[Key] = [(_PARAMETER, name or "") for name in names]
    for kind, of in zip(kinds, order[1:], strict=True):
        keys += [(kind, k) for k in range(piece.dim(of))]
    for number in range(matrix.rows()):
        row = ((key, matrix.get_element_val(number, at)) for at, key in enumerate(keys, 1))
        # most are 0: a number is made of few
        yield {key: value.to_python() for key, value in row if not value.is_zero()}


def _has_stride(piece: Piece, columns: int) -> bool:
    """Whether some dimension is in a residue class, given any number of the first times."""
    rows = [dict(row) for row in piece]
    if all(_is_plain(row) for row in rows):
        return False
    for column in range(columns + 1):
        rows = _reduced(rows)
        if any(_is_strided(row) for row in rows):
            return True
        rows = [_given(row, column) for row in rows]
    return False


def _sought(row: Row) -> list[int]:
    return [abs(value) for (kind, _), value in row.items() if kind >= _TIME]


def _is_plain(row: Row) -> bool:
    """``x = y + f`` or ``x = f``: no combination of such rows has a stride."""
    sought = _sought(row)
    return len(sought) <= 2 and all(value == 1 for value in sought)


def _is_strided(row: Row) -> bool:
    """Whether what is sought is in a residue class: ``m i + m n h = f``.

    A row that only says what something projected out is says nothing of the rest.
    """
    last = max(row)
    if last[0] >= _CELL and abs(row[last]) == 1:
        return False
    return any(many > one and many % one == 0 for one, many in permutations(_sought(row), 2))


def _given(row: Row, column: int) -> Row:
    """The row where that column of time is the read's."""
    return {(_PREFIX, column) if key == (_TIME, column) else key: v for key, v in row.items()}


def _reduced(rows: Iterable[Row]) -> list[Row]:
    """Reduced row echelon form, as isl has it: the last variable of each row is in no other."""
    done: dict[Key, Row] = {}
    for given in rows:
        row = given
        for last in row.keys() & done.keys():  # none of the rows has the last variable of another
            row = _without(row, last, done[last])
        if not row:
            continue
        last = max(row)
        for key, other in done.items():
            if last in other:
                done[key] = _without(other, last, row)
        done[last] = row
    return list(done.values())


def _without(row: Row, key: Key, other: Row) -> Row:
    """The row with a variable eliminated by another row, its coefficients without common factor."""
    mine, its = row[key], other[key]
    both = {k: value * its for k, value in row.items()}
    for k, value in other.items():
        both[k] = both.get(k, 0) - value * mine
    common = gcd(*both.values()) or 1
    return {k: value // common for k, value in both.items() if value}
