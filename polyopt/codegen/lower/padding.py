"""Room at the end of buffers' rows, so that each starts on a cache line, no two on the same set.

rewrite: ``float b[6][W - 4]`` -> ``float b[6][W - ((W + 11) % 32) + 27]``

Where rows follow each other closely, vectors of most rows lie across two lines, and each store of
one takes two. An odd number of lines to a row puts neighbouring rows into different sets of the
cache: with a power of two all of them would share a few.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.isl import affine_constant, constant_value
from polyopt.transform.schedule.storage import quotient

if TYPE_CHECKING:
    from polyopt.isl import PwAff

#: bytes of a cache line
LINE = 64
#: rows of fewer lines stay as they are: padding would be a large part of them
LEAST_LINES = 8


def with_padded_rows(extents: tuple[PwAff, ...], element: int) -> tuple[PwAff, ...]:
    """Extents ``[N] -> { [extent] }`` of a buffer, of elements of so many bytes, the last longer.

    A buffer of one row, and rows of few elements, stay as they are.
    """
    if LINE % element or all(constant_value(e) == 1 for e in extents[:-1]):
        return extents
    *outer, row = extents
    lanes, known = LINE // element, constant_value(row)
    if known is not None and known < LEAST_LINES * lanes:
        return extents
    # { [2 * lanes * floor((row + lanes - 1) / (2 * lanes)) + lanes] }
    space = row.get_domain_space()
    pairs = quotient(row.add(affine_constant(space, lanes - 1)), 2 * lanes)
    long = pairs.mul(affine_constant(space, 2 * lanes)).add(affine_constant(space, lanes))
    return (*outer, long)
