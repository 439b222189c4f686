"""Strip-mining for the first cache: rows in pieces that stay there until they are read again.

A stencil reads what it read a row ago, or wrote. Where the rows of an iteration fill more than half
of the first cache, and what comes and goes the rest, each comes from the second one again, for
every row that reads it::

    for i: for j: b[i][j] = a[i-1][j] + a[i][j] + a[i+1][j]

becomes, with fewer columns at a time::

    for j_tile: for i: for j in j_tile: b[i][j] = a[i-1][j] + a[i][j] + a[i+1][j]

(M. Wolf and M. Lam, "A data locality optimizing algorithm", 1991.)
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from polyopt.analysis.footprint import bounding_box
from polyopt.isl import dim_type
from polyopt.transform.schedule.query import loop_over_blocks
from polyopt.transform.schedule.storage import project_tail

if TYPE_CHECKING:
    from polyopt.isl import Map
    from polyopt.transform.plan import Plan

#: the share of the cache that rows may fill
SHARE = 1 / 2
#: elements of a piece at least: a vector loop that is short has more of ends than of a middle
LEAST = 256


def short_rows(plan: Plan, names: tuple[str, ...], length: float, cache: int) -> tuple[Plan, int]:
    """The plan with the innermost loop of some copies in pieces, and their length, 0 for none.

    The copies share all their loops; ``length`` is that of the innermost, ``cache`` in bytes.
    Raises ``IllegalScheduleError`` where the loop around cannot be inside.
    """
    rows, columns = plan.program.places[names[0]].loops[-2:]
    fitting = int(SHARE * cache) // max(_bytes(plan, names), 1)
    size = 1 << fitting.bit_length() >> 1
    if length <= fitting or size < LEAST:
        return plan, 0
    iterator = columns.iterator
    plan = plan.tile(names[-1], **{iterator: size})
    return plan.interchange(rows.name, loop_over_blocks(plan.program, columns.name).name), size


def _bytes(plan: Plan, names: tuple[str, ...]) -> int:
    """Bytes of one column of all rows that an iteration of the loop around touches."""
    program = plan.program
    writes, reads = program.touches_in(names)
    depth = len(program.places[names[0]].loops) - 1
    touched: dict[str, Map] = {}
    for touch in (*writes, *reads):
        rank = touch.element.dim(dim_type.out)
        if touch.scratch is not None or rank < 2:
            continue
        rows = touch.element.project_out(dim_type.out, rank - 1, 1)
        rows = project_tail(touch.prefix, depth).reverse().apply_range(rows)
        array = touch.access.array
        touched[array] = rows.union(touched[array]) if array in touched else rows
    total = 0
    for array, rows in touched.items():
        box = bounding_box(rows, program.scop.context)
        if box is None or box.constant_extents is None:
            return 0  # who reads how many rows depends on sizes
        total += prod(box.constant_extents) * program.scop.array(array).type.bytes
    return total
