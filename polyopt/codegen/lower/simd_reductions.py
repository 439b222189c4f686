"""SIMD reductions: sums of a vector loop in locals, of which each lane has its own.

rewrite: ``for (j) y[i] = y[i] + A[i][j];`` -> ``double y_sum = y[i];
for (j) y_sum = y_sum + A[i][j]; y[i] = y_sum;``, with ``reduction(+ : y_sum)`` on the loop.

*Requires* that nothing else in the loop touches the element, which the proof shows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import Symbol, Var, scalar
from polyopt.codegen.ast.nodes import Assign, Block, Simd, assigns_in
from polyopt.codegen.lower.accumulator_expansion import expanded
from polyopt.codegen.passes.scalar_replacement import in_local
from polyopt.transform.annotations.reassociate import sums_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.codegen.ast.nodes import For
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop


def in_lanes(
    made: For,
    program: ScheduledProgram,
    loop: PlanLoop,
    symbols: Mapping[str, Symbol],
    *,
    wrapv: bool,
) -> For | Block:
    """A plan's loop as it was lowered, with each element that it adds up in a local.

    ``symbols`` are those of arrays and buffers. Without ``wrapv`` sums of integers, which may
    overflow, are not joined by statements of their own.
    """
    if not isinstance(made.kind, Simd):
        return made
    operations = _operations(program, loop, symbols)
    targets = {
        a.target: a
        for a in assigns_in(made.body)
        if a.buffer in operations and made.iterator not in a.target.symbols
    }
    before: list[Assign] = []
    after: list[Assign] = []
    body, sums = made.body, made.kind.sums
    for target, assign in targets.items():
        assert assign.buffer is not None
        local = Symbol(f"{assign.buffer.hint}_sum", target.type)
        before.append(Assign(Var(local), target, declares=True))
        after.append(Assign(target, Var(local)))
        body = in_local(body, target, local)
        sums = (*sums, (operations[assign.buffer], local))
    if not targets:
        return made
    made = replace(made, body=body, kind=replace(made.kind, sums=sums))
    overflows = not all(scalar(local.type).is_float for _, local in sums)
    parts = expanded(made) if wrapv or not overflows else (made,)
    return Block((*before, *parts, *after), scoped=True)


def _operations(
    program: ScheduledProgram, loop: PlanLoop, symbols: Mapping[str, Symbol]
) -> dict[Symbol, str]:
    """The reduction operators of lanes, by what holds a sum along a vector loop."""
    result: dict[Symbol, str] = {}
    for copy, operation in sums_in(program, loop).items():
        array = program.copies[copy].statement.array
        scratch = program.scratch(copy, array, reading=False)
        result[symbols[scratch.name if scratch else array]] = operation
    return result
