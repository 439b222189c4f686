"""Value range analysis (interval analysis): what subscripts that data decide can be, by what locals
hold and by the conditions around.

    int j = k[i];
    if (j < 0) j = 0;
    if (j > n - 1) j = n - 1;
    b[i] = a[j];                      // 0 <= j <= n - 1

Bounds are affine in sizes. Locals are followed from statement to statement, in the order in which
the program runs them; where a loop or another array comes in between, all that is known of an array
is what its statements write. *Does not handle* bounds that iterators give, and what is added up.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from polyopt.errors import NotDecidedError
from polyopt.frontend.ranges.analysis import Analysis, is_open, nodes
from polyopt.isl import budget

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop

#: isl operations that a program may take: what is not decided by then has no bounds
OPERATIONS = 1_000_000


def with_value_ranges(scop: Scop, *, wraps: bool) -> Scop:
    """The program with bounds for subscripts that data decide, where they are known.

    ``wraps`` says that sums of signed integers may leave their types: in C no program's do.
    """
    if not any(is_open(s, node) for s in scop.statements for node in nodes(s)):
        return scop
    analysis = Analysis(scop, wraps)
    with suppress(NotDecidedError), budget(OPERATIONS, "value ranges"):
        analysis.run(scop.nest)
    return scop.with_statements(*analysis.made)
