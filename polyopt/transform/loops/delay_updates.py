"""Delayed updates: those of a loop's iteration that nothing else in it needs, at its end.

relation: with ``busy = { [t] -> A[x] }``, the elements that iteration ``t`` of the loop touches
other than by the statement's own updates, the instances ``{ S[i] : (t, A[x]) not in busy }`` run
after all others of the iteration, in a nest of their own.

rewrite: ``for (kt) for (k in tile) for (i > k) { A[i][k] /= A[k][k]; for (j > k) A[i][j] -= A[i][k]
* A[k][j]; }`` -> ``for (kt) { for (k in tile) ...the rows and columns of the tile...; for (k in
tile) for (i after tile) for (j after tile) A[i][j] -= A[i][k] * A[k][j]; }``

*Requires* one statement that updates elements. *Fails when* nothing, or everything, can wait. What
waits for the end of a whole block of iterations is a plain product, as factorisations in blocks
have it (G. Golub and C. Van Loan, "Matrix Computations", 3.2.11).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import NotFusableError
from polyopt.isl import Map, Set, dim_type
from polyopt.transform.schedule.query import copies_of, find_loop, fresh_loop_name, path_to
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.storage import project_tail
from polyopt.transform.schedule.tree import (
    PlanLoop,
    ScheduledStatement,
    prefix_map,
    replace_loop,
    with_values,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.isl import PwAff
    from polyopt.transform.schedule.access import ScheduledAccess
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import Tree


@transformation("loops")
def delay_updates(program: ScheduledProgram, space: str, at: str) -> ScheduledProgram:
    """The program with the updates of ``space`` that can wait at the end of each iteration."""
    loop = find_loop(program, at)
    copy = _copy(program, space, loop)
    depth = len(path_to(program, loop.name))
    later = _later(program, copy, loop, depth)
    now = copy.domain.subtract(later).coalesce()
    if later.is_empty() or now.is_empty():
        share = "none" if later.is_empty() else "all"
        message = f"{share} of the updates of {space} can wait for the end of {loop.name}"
        raise NotFusableError(message, hint="distribute() the loop, or leave it as it is")
    return _with(program, copy, loop, depth, now, later)


def _copy(program: ScheduledProgram, space: str, loop: PlanLoop) -> ScheduledStatement:
    named = (space,) if space in loop.copies else copies_of(program, space)
    inside = [name for name in named if name in loop.copies]
    if len(inside) != 1:
        message = f"{loop.name} holds {len(inside)} statements of {space}: one can be delayed"
        raise NotFusableError(message, hint="name a statement, as the plan prints it")
    return program.copies[inside[0]]


def _later(program: ScheduledProgram, copy: ScheduledStatement, loop: PlanLoop, depth: int) -> Set:
    """``{ C[d] }`` of elements that nothing else in the same iteration touches."""
    place = program.places[copy.name]
    times = prefix_map(copy, place.loops[:depth])
    own = next(t for t in program.write_events if t.host == copy.name)
    element = own.accessed
    busy: Map | None = None
    for touch in _others(program, copy, loop):
        here = project_tail(touch.prefix, depth).reverse().apply_range(touch.element)
        busy = here if busy is None else busy.union(here)
    if busy is None:
        return copy.domain
    # without sizes the shape is the simpler, and too many busy elements do no harm
    sizes = busy.dim(dim_type.param)
    plain = busy.drop_constraints_involving_dims(dim_type.param, 0, sizes)
    pairs = times.range_product(element)
    for taken in (plain, busy):
        later = copy.domain.subtract(pairs.intersect_range(taken.coalesce().wrap()).domain())
        if not later.is_empty():
            return later.coalesce()
    return Set.empty(copy.domain.get_space())


def _others(
    program: ScheduledProgram, copy: ScheduledStatement, loop: PlanLoop
) -> Iterator[ScheduledAccess]:
    """The accesses to the array inside a loop but those of the copy to the element it updates."""
    array, written = copy.statement.array, copy.statement.write.relation
    for touch in (*program.write_events, *program.read_events):
        if touch.access.array != array or touch.host not in loop.copies:
            continue
        if touch.host == copy.name and touch.access.relation.is_equal(written):
            continue
        yield touch


def _with(
    program: ScheduledProgram,
    copy: ScheduledStatement,
    loop: PlanLoop,
    depth: int,
    now: Set,
    later: Set,
) -> ScheduledProgram:
    path = program.places[copy.name].loops
    name = f"{copy.name}@{loop.name}"
    waiting = replace(copy, name=name, domain=later.set_tuple_name(name))
    node: PlanLoop | str = name
    for inner in reversed(path[depth:]):
        fresh = fresh_loop_name(program.tree, inner.name)
        node = PlanLoop(fresh, {name: _renamed(inner.values[copy.name], waiting)}, (node,))

    def change(found: PlanLoop) -> Tree:
        return (replace(found, body=(*found.body, node)),)

    tree = replace_loop(program.tree, loop.name, change)
    around = {n.name: {name: _renamed(n.values[copy.name], waiting)} for n in path[:depth]}
    kept = replace(copy, domain=now)
    return replace(
        program,
        tree=with_values(tree, around),
        copies={**program.copies, copy.name: kept, name: waiting},
    )


def _renamed(value: PwAff, copy: ScheduledStatement) -> PwAff:
    """``{ C[d] -> [v] }`` over another copy of the same dimensions."""
    return value.set_tuple_id(dim_type.in_, copy.domain.get_tuple_id())
