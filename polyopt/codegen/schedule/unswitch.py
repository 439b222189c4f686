"""A vector loop for each case of what its iterations are all alike in.

rewrite: ``for (x) a[x] = y % 2 == 0 ? f(x) : g(x);`` ->
``if (y % 2 == 0) for (x) a[x] = f(x); else for (x) a[x] = g(x);``
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.codegen.schedule.accesses import lowered_statement
from polyopt.codegen.schedule.boundaries import first_values
from polyopt.ir.expr import Inside, walk
from polyopt.isl import Set, dim_type
from polyopt.transform.schedule.tree import copies_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import PlanLoop

#: tests of remainders that a loop is written out for, both ways
MOST_REMAINDERS = 2
#: sizes at which the usual outcome of a test is found
SAMPLE = 1000


def cases(
    program: ScheduledProgram, loop: PlanLoop, planned: ScheduledProgram | None = None
) -> tuple[Mapping[str, Set], ...]:
    """``{ C[d] }`` of a loop's instances by the outcome of tests that the loop does not change.

    First where all have their usual outcome, by remainders; then the borders, tests and all; each
    by copy. Empty where there is no such test. ``planned`` says what copies compute, where blocks
    took the place of some.
    """
    names = copies_in(loop)
    path = program.places[names[0]].loops
    depth = next(i for i, node in enumerate(path) if node.name == loop.name)
    tests = [test for name in names for test in _tests(program, planned or program, name, depth)]
    if not tests:
        return ()
    everything = _times(program, names[0], depth)
    for name in names[1:]:
        everything = everything.union(_times(program, name, depth))
    inside, remainders = everything, list[Set]()
    for test in tests:
        if not _has_divisions(test):
            inside = inside.intersect(_usual(program, test, everything))
        elif len(remainders) < MOST_REMAINDERS and not any(map(test.is_equal, remainders)):
            remainders.append(test)
    parts = [inside.coalesce()]
    for test in remainders:
        parts = [p for whole in parts for p in (whole.intersect(test), whole.subtract(test))]
    parts = [part for part in (*parts, everything.subtract(inside)) if not part.is_empty()]
    return tuple(_at(program, names, part) for part in parts) if len(parts) > 1 else ()


def _has_divisions(times: Set) -> bool:
    return any(part.dim(dim_type.div) > 0 for part in times.compute_divs().get_basic_sets())


def _usual(program: ScheduledProgram, test: Set, everything: Set) -> Set:
    """The outcome of a test that holds at more times, as the set of these."""
    sizes = dict.fromkeys(program.scop.params, SAMPLE)
    other = everything.subtract(test)
    return other if about(other, sizes) > about(test, sizes) else test


def _tests(
    program: ScheduledProgram, planned: ScheduledProgram, name: str, depth: int
) -> list[Set]:
    """``{ [t] }``: when the tests of a copy hold that the outer ``depth`` loops decide."""
    copy = program.copies[name]
    if name not in planned.places:
        return []  # part of a block
    if not (program.inlined or any(isinstance(e, Inside) for e in walk(copy.statement.value))):
        return []
    assignment = lowered_statement(planned, name)
    domain = copy.domain.intersect_params(program.scop.context)
    found: list[Set] = []
    for expr in (*assignment.index, assignment.value):
        for node in walk(expr):
            if not isinstance(node, Inside):
                continue
            true, false = domain.intersect(node.where), domain.subtract(node.where)
            if true.is_empty() or false.is_empty():
                continue
            when, otherwise = (_outer(program, name, part, depth) for part in (true, false))
            if when.is_disjoint(otherwise):
                found.append(when)
    return found


def _times(program: ScheduledProgram, name: str, depth: int) -> Set:
    domain = program.copies[name].domain.intersect_params(program.scop.context)
    return _outer(program, name, domain, depth)


def _outer(program: ScheduledProgram, name: str, domain: Set, depth: int) -> Set:
    """``{ [t] }``: the values of the outer ``depth`` loops at some instances of a copy."""
    values = program.prefixes[name].intersect_domain(domain).range()
    return first_values(values, depth).coalesce()


def _at(program: ScheduledProgram, names: tuple[str, ...], times: Set) -> Mapping[str, Set]:
    """The instances of copies when the outer loops have given values."""
    result: dict[str, Set] = {}
    for name in names:
        prefix = program.prefixes[name]
        inner = prefix.dim(dim_type.out) - times.dim(dim_type.set)
        outer = prefix.project_out(dim_type.out, times.dim(dim_type.set), inner)
        result[name] = outer.intersect_range(times).domain()
    return result
