"""Values of the sizes at which a loop's range separates dependences that it carries.

``A[i] = A[N - 1 - i]`` reads, in the second half of the loop, what the first has written; within
each half iterations are independent. (M. Griebl, P. Feautrier and C. Lengauer, "Index set
splitting", 2000.)

relation: of ``{ [v] -> [v'] }``, the values of a loop whose iterations clash, a value ``w`` of the
sizes separates those with ``v < w <= v'``. Candidates are where a piece of it has its last source
or its first sink.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.isl import Map, PwAff, affine_constant, affine_var

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.isl import Set

#: candidates that are looked at
MOST_CANDIDATES = 6


def split_points(pairs: Map, context: Set) -> list[PwAff]:
    """Values that separate a whole piece of ``{ [v] -> [v'] }``, each once."""
    found: list[PwAff] = []
    for part in pairs.get_basic_maps():
        piece = Map.from_basic_map(part)
        last, first = piece.domain().dim_max(0), piece.range().dim_min(0)
        after = last.add(affine_constant(last.get_domain_space(), 1))
        for value in (after, first):
            pieces = value.gist(context.intersect(piece.params())).coalesce().get_pieces()
            if len(pieces) != 1:
                continue
            point = PwAff.from_aff(pieces[0][1]).floor()  # also for sizes that the piece is not of
            if any(point.plain_is_equal(known) for known in found):
                continue
            if unseparated(piece, (point,)).is_empty():
                found.append(point)
    return found[:MOST_CANDIDATES]


def unseparated(pairs: Map, points: Sequence[PwAff]) -> Map:
    """The pairs that no point separates: ``v < w <= v'``."""
    wrapped = pairs.wrap()
    space = wrapped.get_space()
    for point in points:
        there = point.insert_domain(space)
        before = affine_var(space, 0).lt_set(there)
        wrapped = wrapped.subtract(before.intersect(affine_var(space, 1).ge_set(there)))
    return wrapped.unwrap()
