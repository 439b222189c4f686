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


def lane_sums(program: Program, loop: PlanLoop, names: Mapping[str, str]) -> Mapping[str, str]:
    """How lanes are joined, by the C name of what holds a sum along a vector loop.

    ``names`` are the C names of arrays and buffers.
    """
    result: dict[str, str] = {}
    for copy, operation in sums_in(program, loop).items():
        array = program.copies[copy].statement.array
        scratch = program.scratch(copy, array, reading=False)
        result[names[scratch.name if scratch else array]] = operation
    return result


def sums_in_lanes(loop: For, operations: Mapping[str, str], taken: set[str]) -> For | Block:
    """The loop with each element that it adds up in a local; ``operations`` say, by the buffer
    that is written, how lanes are joined. The new names are added to ``taken``."""
    targets = {a.target: a for a in assigns_in(loop.body) if a.buffer in operations
               and loop.iterator not in names_in(a.target)}  # fmt: skip
    before: list[Assign] = []
    after: list[Assign] = []
    for target, assign in targets.items():
        local = fresh(f"{assign.buffer}_sum", taken)
        taken.add(local)
        before.append(Assign(local, target, type=assign.type, declares=True))
        after.append(Assign(target, local, assign.buffer))
        body = renamed(loop.body, target, local)
        assert isinstance(body, Block)
        sums = (*loop.sums, (operations[assign.buffer], local))
        loop = replace(loop, body=body, sums=sums)
    return Block((*before, loop, *after), scoped=True) if targets else loop
