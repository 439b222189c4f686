"""Sums of a vector loop in locals, of which each lane has its own.

rewrite: ``for (j) y[i] = y[i] + A[i][j];`` -> ``double y_sum = y[i];
for (j) y_sum = y_sum + A[i][j]; y[i] = y_sum;``, with ``reduction(+ : y_sum)`` on the loop.

*Requires* that nothing else in the loop touches the element, which the proof shows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.accumulate import renamed
from polyopt.codegen.loops import Assign, Block, assigns_in
from polyopt.codegen.names import fresh, names_in
from polyopt.transform.reassociate import sums_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.loops import For
    from polyopt.transform.program import Program
    from polyopt.transform.tree import PlanLoop


def in_lanes(
    made: For, program: Program, loop: PlanLoop, names: Mapping[str, str], taken: set[str]
) -> tuple[For | Block, set[str]]:
    """A plan's loop as it was made, with each element that it adds up in a local, and the locals.

    ``names`` are the C names of arrays and buffers, ``taken`` all that the locals differ from.
    """
    found = set[str]()
    if made.mark != "vector":
        return made, found
    operations = _operations(program, loop, names)
    targets = {
        a.target: a
        for a in assigns_in(made.body)
        if a.buffer in operations and made.iterator not in names_in(a.target)
    }
    before: list[Assign] = []
    after: list[Assign] = []
    for target, assign in targets.items():
        local = fresh(f"{assign.buffer}_sum", taken | found)
        found.add(local)
        before.append(Assign(local, target, type=assign.type, declares=True))
        after.append(Assign(target, local, assign.buffer))
        body = renamed(made.body, target, local)
        assert isinstance(body, Block)
        made = replace(made, body=body, sums=(*made.sums, (operations[assign.buffer], local)))
    return (Block((*before, made, *after), scoped=True) if targets else made), found


def _operations(program: Program, loop: PlanLoop, names: Mapping[str, str]) -> dict[str, str]:
    """How lanes are joined, by the C name of what holds a sum along a vector loop."""
    result: dict[str, str] = {}
    for copy, operation in sums_in(program, loop).items():
        array = program.copies[copy].statement.array
        scratch = program.scratch(copy, array, reading=False)
        result[names[scratch.name if scratch else array]] = operation
    return result
