"""What C says that threads and lanes share, checked on the C itself: no two iterations clash.

The plan's own marks are shown with the plan (``transform/legality/parallel.py``); this reads them
off the text. Locals of an iteration are its own already: the frontend gives them a dimension each.

relation: a clash is ``{ S[i] -> T[j] }`` on one element, ``S`` writing it, where all loops outside
the shared one agree, and it does not: by less than its lanes, where it says how many there are
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.analysis.updates import extreme_of, update_of
from polyopt.errors import InternalError
from polyopt.frontend.c.readback.parallel_loops import IN_TURN, mark_of, unmarked
from polyopt.isl import Map, affine_constant, affine_var, dim_type
from polyopt.transform.legality.equivalence import NotShownError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.ir.scop import Access, Scop, Statement


@dataclass(frozen=True, eq=False)
class _Loop:
    """A loop whose iterations run together, its statements, and how deep it stands."""

    name: str
    kind: str
    #: values of the iterator that are less than this apart run together; 0 for all
    width: int
    depth: int
    statements: tuple[Statement, ...]


def check_shared(scop: Scop) -> int:
    """The loops that are shared, once they are shown to be free of clashes.

    ``scop`` is emitted C read with its marks. Raises ``InternalError`` for a clash, and
    ``NotShownError`` where only data decide on it.
    """
    loops = list(_loops(scop))
    for loop in loops:
        for one in loop.statements:
            for other in loop.statements:
                _check(loop, one, other, scop)
    return len(loops)


def _loops(scop: Scop) -> Iterator[_Loop]:
    inside: dict[str, list[Statement]] = {}
    for statement in scop.statements:
        for name in statement.iterators:
            if mark_of(name) is not None:
                inside.setdefault(name, []).append(statement)
    for name, statements in inside.items():
        mark = mark_of(name)
        assert mark is not None
        depth = statements[0].iterators.index(name)
        yield _Loop(unmarked(name), mark.kind, mark.width, depth, tuple(statements))


def _check(loop: _Loop, one: Statement, other: Statement, scop: Scop) -> None:
    turns = all(any(IN_TURN in name for name in s.iterators) for s in (one, other))
    if loop.kind == "turns" and turns:
        return
    # lanes that add up join their sums at the end; their reader has seen to it that a loop does
    # nothing else with a sum
    same = loop.kind == "sums" and one.array == other.array
    if same and all(_is_joined(loop, s, scop) for s in (one, other)):
        return
    write = one.write
    for access in (other.write, *other.reads):
        if access.array == write.array and _clash(loop, write, access, scop):
            if not (write.exact and access.exact):
                message = f"only data decide on what iterations of {loop.name} share"
                raise NotShownError(message)
            message = f"the C shares iterations of {loop.name} that clash in {write.array}"
            raise InternalError(message)


def _is_joined(loop: _Loop, statement: Statement, scop: Scop) -> bool:
    """Whether a statement updates what clauses name: one local all along a loop."""
    relation = statement.write.relation
    if scop.array(statement.array).role != "temp":
        return False
    inner = relation.dim(dim_type.in_) - loop.depth
    if not relation.project_out(dim_type.in_, loop.depth, inner).is_single_valued():
        return False
    return update_of(statement) is not None or extreme_of(statement) is not None


def _clash(loop: _Loop, write: Access, access: Access, scop: Scop) -> bool:
    pairs = write.relation.apply_range(access.relation.reverse()).intersect_params(scop.context)
    for level in range(loop.depth):
        pairs = pairs.equate(dim_type.in_, level, dim_type.out, level)
    line = Map.universe(pairs.get_space())
    before = line.order_lt(dim_type.in_, loop.depth, dim_type.out, loop.depth)
    after = line.order_gt(dim_type.in_, loop.depth, dim_type.out, loop.depth)
    pairs = pairs.intersect(before.union(after))
    if loop.width:
        pairs = pairs.intersect(_close(line, loop.depth, loop.width))
    return not pairs.is_empty()


def _close(line: Map, depth: int, width: int) -> Map:
    """``{ S[i] -> T[j] : |i_depth - j_depth| < width }``."""
    wrapped = line.wrap().get_space()
    count = line.dim(dim_type.in_)
    gap = affine_var(wrapped, depth).sub(affine_var(wrapped, count + depth))
    limit = affine_constant(wrapped, width)
    return gap.lt_set(limit).intersect(gap.neg().lt_set(limit)).unwrap()
