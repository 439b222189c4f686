"""reassociate: sums whose terms may be added in any order, because the user says so.

rewrite: nothing by itself. A vector loop that runs along such a sum gives each lane a sum of its
own, and adds these at its end: ``for (j) y[i] += A[i][j] * x[j];`` ->
``s = y[i]; #pragma omp simd reduction(+ : s) for (j) s += A[i][j] * x[j]; y[i] = s;``

A parallel loop whose iterations share nothing but such sums gives each iteration sums of its own,
and adds these in the order of the iterations: whatever the number of threads, the result is the
same (``codegen/lower/privatize.py``).

*Requires* sums and products ``A[f(i)] = A[f(i)] op value`` that read ``A[f(i)]`` once, or minima
and maxima, of floats ``A[f(i)] = value < A[f(i)] || A[f(i)] != A[f(i)] ? A[f(i)] : value``.
Results are then those of the source up to the order of these operations: the proof says which. Of
minima and maxima the number is the same, and NaN where there was one; which zero, +0 or -0, and
which NaN is left depends on the order. Those of integers are the same in any order, bit for bit:
sums and products wrap.
*Does not handle* minima and maxima that forget a NaN at the next number, and in vector loops sums
whose element moves with the loop, or with one inside it: lanes would need a row of sums each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.analysis.updates import extreme_of, update_of
from polyopt.errors import InvalidOptionError
from polyopt.transform.schedule.query import check_name, moves_target
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.tree import loops_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Statement
    from polyopt.transform.schedule.program import ScheduledAccess, ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: what the operation that joins the sums of the lanes is called
_JOINED = {"add": "+", "sub": "+", "mul": "*"}
#: the same of those of integers alone: floats have a comparison that says what becomes of NaN
_OF_INTEGERS = {"min": "min", "max": "max"}


@transformation("annotation", keeps=True)
def reassociate(program: ScheduledProgram, *names: str) -> ScheduledProgram:
    """The program with the operations of some statements free in their order."""
    known = {s.name: s for s in program.scop.statements}
    for name in names:
        check_name("statement", name)
        if name not in known:
            message = f"no statement is called {name!r}"
            raise InvalidOptionError(message, hint=f"there are: {', '.join(known)}")
        if accumulation(known[name]) is None:
            message = f"{name} is no sum, product, minimum or maximum of its own element"
            hint = "it has to be of the form A[f(i)] = A[f(i)] + value"
            raise InvalidOptionError(message, span=known[name].span, hint=hint)
    return replace(program, reassociated=program.reassociated | {*names})


def accumulation(statement: Statement) -> tuple[str, frozenset[str]] | None:
    """The reduction operator of a statement, ``+``, ``*``, ``min`` or ``max``, and the references
    that read what it updates.

    ``None`` for what is no sum, product or extreme whose order could be free.
    """
    found = update_of(statement)
    if found is None:
        return extreme_of(statement)
    joined = _JOINED if is_rounded(statement) else _JOINED | _OF_INTEGERS
    return (joined[found[0]], frozenset({found[1]})) if found[0] in joined else None


def is_rounded(statement: Statement) -> bool:
    """Whether a statement's reduction is of floats: another order may give other bits."""
    return statement.value.type.is_float


def sums_in(program: ScheduledProgram, loop: PlanLoop) -> Mapping[str, str]:
    """The copies in a vector or parallel loop that update elements in an order that is free, with
    how partial sums are joined.

    Lanes have one element each all along the loop; threads may share a whole array of them, which
    nothing else in the loop touches. Partial results of an array are joined in one way.
    """
    if loop.mark not in {"vector", "parallel"} or not program.reassociated:
        return {}
    found: dict[str, str] = {}
    for name in loop.copies:
        copy = program.copies.get(name)  # parts of register blocks are not copies of the plan
        if copy is None or copy.statement.name not in program.reassociated:
            continue
        known = accumulation(copy.statement)
        if known is not None and (loop.mark == "parallel" or _has_one(program, name, loop)):
            found[name] = known[0]
    found = _joined_alike(program, found)
    return found if loop.mark == "vector" else _untouched(program, loop, found)


def _joined_alike(program: ScheduledProgram, found: Mapping[str, str]) -> dict[str, str]:
    """Those of some sums whose arrays are updated by one operation alone."""
    ways: dict[str, set[str]] = {}
    for name, operation in found.items():
        ways.setdefault(program.copies[name].statement.array, set()).add(operation)
    return {n: o for n, o in found.items() if len(ways[program.copies[n].statement.array]) == 1}


def _has_one(program: ScheduledProgram, copy: str, loop: PlanLoop) -> bool:
    """Whether a copy updates one element all along a loop; per iteration of unrolled ones in it."""
    inner = (n for n in loops_of(loop.body) if n.mark != "unroll" and copy in n.values)
    return not any(moves_target(program, copy, n) for n in (loop, *inner))


def _untouched(
    program: ScheduledProgram, loop: PlanLoop, found: Mapping[str, str]
) -> dict[str, str]:
    """Those of some sums whose arrays nothing else in a loop touches."""
    writes, reads = program.touches_in({*loop.copies})
    others = {
        touch.access.array
        for touch in (*writes, *reads)
        if touch.host not in found or touch.scratch is not None or not _is_own(program, touch)
    }
    arrays = {name: program.copies[name].statement.array for name in found}
    return {name: found[name] for name, array in arrays.items() if array not in others}


def _is_own(program: ScheduledProgram, touch: ScheduledAccess) -> bool:
    """Whether an access is a sum's to the element that it updates."""
    statement = program.copies[touch.host].statement
    known = accumulation(statement)
    return known is not None and touch.access.ref in {statement.write.ref, *known[1]}


def is_free(
    program: ScheduledProgram,
    sums: Mapping[str, str],
    write: ScheduledAccess,
    other: ScheduledAccess,
) -> bool:
    """Whether two accesses to one cell are of sums whose order does not matter."""
    return (
        write.host in sums
        and other.host in sums
        and _is_own(program, write)
        and _is_own(program, other)
    )
