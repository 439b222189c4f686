"""Interleaved recurrences, and strips of columns: what is left without vectors or threads.

A sum along a row is a chain of additions, each waiting for the one before, where its order may
not change; sums of several rows side by side wait together. A sum down the columns has vectors
inside and nothing for threads outside; strips of columns have both.

A row whose elements each need the one before is such a chain as well; where the next row may follow
some columns behind, several rows are done side by side, skewed.

rewrite: ``for (i) for (j) x[i] += A[i][j];`` ->
``for (it) for (j) { x[8*it] += A[8*it][j]; ... x[8*it + 7] += A[8*it + 7][j]; }``, and
``for (j) for (i) x[i] += A[j][i];`` -> ``for (is) for (j) for (i in strip) x[i] += A[j][i];``
"""

from __future__ import annotations

from math import ceil, log2, prod
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.ir.block import Block
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.model.machine import costs_of
from polyopt.scheduler.queries import checked, widen_locals
from polyopt.transform.schedule.query import find_loop, loop_like, moves_target, path_to
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import PlanLoop, copies_in, loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polyopt.codegen.target import Target
    from polyopt.transform.plan import Plan


def rows_at_once(target: Target) -> int:
    """Rows that run side by side: as many updates, of a load and an operation each, as start until
    the first of them is done; a power of two, for whole vectors and lines."""
    costs = costs_of(target)
    return 2 ** ceil(log2(max(2.0, costs.latency / (2 * costs.scalar))))


def rows_together(
    plan: Plan, target: Target, sizes: Mapping[str, int], legal: Callable[[Plan], bool]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with sums along rows done for several rows at once."""
    remarks: list[Remark] = []
    count = rows_at_once(target)
    for name in list(plan.program.places):
        path = plan.program.places[name].loops
        chain = () if any(loop.mark for loop in path) else _chain_of_updates(plan, name)
        lengths = [trips(plan.program, loop, sizes) for loop in chain]
        if not chain or min(lengths[0], prod(lengths[1:])) < 4 * count:
            continue
        try:
            changed = _jammed(plan, name, len(chain), count)
        except UserError:
            continue
        if legal(changed):
            plan = changed
            reason = "sums of several rows wait for their additions together"
            done = Remark("applied", "unroll", chain[0].name, reason, numbers={"rows": count})
            remarks.append(done)
    return plan, tuple(remarks)


def _chain_of_updates(plan: Plan, name: str) -> tuple[PlanLoop, ...]:
    """The loop over rows, and those inside all along which a copy updates one float; nothing where
    it updates others."""
    program, path = plan.program, plan.program.places[name].loops
    statement = program.copies[name].statement
    if statement.reduction is None or not statement.value.type.is_float:
        return ()
    moves = [moves_target(program, name, loop) for loop in path]
    if len(path) < 2 or moves[-1] or True not in moves:
        return ()
    return path[len(moves) - 1 - moves[::-1].index(True) :]


def _jammed(plan: Plan, name: str, depth: int, count: int) -> Plan:
    """The plan with rows of a chain of so many loops side by side, and nothing else in them."""
    path = plan.program.places[name].loops
    for loop in reversed(path[-depth:]):
        inside = copies_in(find_loop(plan.program, loop.name))
        at = inside.index(name)
        for first in (*inside[at : at + 1], *inside[at + 1 : at + 2]):
            shared = loop_like(plan.program, name, loop)
            held = copies_in(shared)
            if first in held and held.index(first) > 0:
                plan = plan.distribute(shared.name, at=first)
    rows = plan.program.places[name].loops[-depth]
    plan = plan.unroll_and_jam(rows.name, count)
    around = path_to(plan.program, rows.name)
    return plan.separate_full_tiles(around[-1 - depth].name)


def chains_together(
    plan: Plan, target: Target, sizes: Mapping[str, int], legal: Callable[[Plan], bool]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with rows of elements that wait for each other done side by side."""
    remarks: list[Remark] = []
    count = rows_at_once(target)
    done: set[str] = set()
    for name in list(plan.program.places):
        path = plan.program.places[name].loops
        if len(path) < 2 or name in done or not _is_row(plan, path, sizes, count):
            continue
        done |= {*path[-1].copies}
        try:
            found = _side_by_side(plan, path[-2], path[-1], count, legal)
        except UserError:
            continue
        if found is None:
            continue
        plan, skewed = found
        reason = "rows whose elements wait for each other are done side by side"
        numbers = {"rows": float(count), "columns behind the row before": float(skewed)}
        remarks.append(Remark("applied", "unroll", path[-2].name, reason, numbers=numbers))
    return plan, tuple(remarks)


def _is_row(plan: Plan, path: tuple[PlanLoop, ...], sizes: Mapping[str, int], count: int) -> bool:
    """Whether an innermost loop is a chain of floats, in rows of some length."""
    rows, row = path[-2:]
    program = plan.program
    values = [program.copies[name].statement.value for name in row.copies]
    if rows.mark or row.mark or not all(v.type.is_float for v in values):
        return False
    if any(isinstance(child, PlanLoop) for child in row.body):
        return False
    if any(isinstance(v, Block) for v in values):
        return False
    if trips(program, rows, sizes) < count or trips(program, row, sizes) < 4 * count:
        return False
    return not _are_apart(plan, row, count)


def _side_by_side(
    plan: Plan, rows: PlanLoop, row: PlanLoop, count: int, legal: Callable[[Plan], bool]
) -> tuple[Plan, int] | None:
    """The plan with rows of one loop jammed, and how far each is behind the one before."""
    first = row.copies[0]
    plan, private = _alone(plan, rows, first, count)
    rows, row = plan.program.places[first].loops[-2:]
    for factor in range(count):
        changed = plan.skew(row.name, by=rows.name, factor=factor) if factor else plan
        changed = changed.unroll_and_jam(rows.name, count)
        around = path_to(changed.program, rows.name)
        for array in private:
            changed = changed.store(array, at=around[-3].name)
        if legal(changed) and _are_apart(changed, rows, count):
            blocks = around[-3].name
            changed = changed.separate_full_tiles(row.name) if factor else changed
            return changed.separate_full_tiles(blocks), factor
    return None


def _alone(plan: Plan, rows: PlanLoop, first: str, count: int) -> tuple[Plan, list[str]]:
    """The plan with nothing but one row in a loop of rows, and what was private to a row.

    What other parts of a row use, too, becomes private to as many rows as are done together.
    """
    private = [s.array for s in plan.program.stores if s.at == rows.name]
    if len(rows.body) > 1:
        own = next(copies_in(child) for child in rows.body if first in copies_in(child))
        beside = {*rows.copies} - {*own}
        if any(_uses(plan, name, array) for name in beside for array in private):
            plan = plan.split(rows.name, count)
            plan = plan.separate_full_tiles(path_to(plan.program, rows.name)[-2].name)
            rows = find_loop(plan.program, rows.name)
        plan = widen_locals(plan, rows)
        at = next(k for k, child in enumerate(rows.body) if first in copies_in(child))
        for child in rows.body[at : at + 2]:
            head = copies_in(child)[0]
            shared = plan.program.places[head].loops
            loop = next(n for n in shared if n.values[head] is rows.values[head])
            if loop.copies[0] != head:
                plan = plan.distribute(loop.name, at=head)
    inside = {*plan.program.places[first].loops[-2].copies}
    others = {n for n in plan.program.places if n not in inside}
    own = [a for a in private if not any(_uses(plan, n, a) for n in others)]
    return plan, own


def _uses(plan: Plan, name: str, array: str) -> bool:
    statement = plan.program.copies[name].statement
    return any(a.array == array for a in (statement.write, *statement.reads))


def _are_apart(plan: Plan, loop: PlanLoop, count: int) -> bool:
    """Whether iterations of an innermost loop are independent, as many as run side by side."""
    try:
        checked(plan.vectorize(loop.name, count), loop.name)
    except UserError:
        return False
    return True


def strips(
    plan: Plan, target: Target, sizes: Mapping[str, int], legal: Callable[[Plan], bool]
) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with strips of columns around nests that have no other loop for threads."""
    remarks: list[Remark] = []
    if target.cores < 2:
        return plan, ()
    for root in plan.program.tree:
        chain = _chain(root)
        if len(chain) < 2 or any(n.mark not in {"", "vector", "unroll"} for n in chain):
            continue
        vector = next((n for n in chain if n.mark == "vector"), None)
        if vector is None or vector is chain[0] or _has_parallel(plan, chain):
            continue
        columns, lanes = trips(plan.program, vector, sizes), target.lanes(4)
        if columns < 2 * target.cores * lanes:
            continue
        width = ceil(columns / target.cores / 2 / lanes) * lanes
        try:
            changed = plan.split(vector.name, width)
            outer = path_to(changed.program, vector.name)[-2].name
            changed = changed.reorder(outer, *(n.name for n in chain[: chain.index(vector)]))
            checked(changed.parallelize(outer), outer)
        except UserError:
            continue
        if legal(changed):
            plan = changed
            reason = "strips of columns are the one loop that threads can share"
            numbers = {"columns": float(width)}
            remarks.append(Remark("applied", "split", vector.name, reason, numbers=numbers))
    return plan, tuple(remarks)


def _chain(root: PlanLoop | str) -> list[PlanLoop]:
    """The loops of a perfect nest, of one statement or several."""
    if isinstance(root, str):
        return []
    loops = list(loops_of((root,)))
    return loops if all(len(loop.body) == 1 for loop in loops[:-1]) else []


def _has_parallel(plan: Plan, chain: list[PlanLoop]) -> bool:
    """Whether a loop around the vector loop has independent iterations."""
    for loop in chain:
        if loop.mark:
            return False
        try:
            checked(plan.parallelize(loop.name), loop.name)
        except UserError:
            continue
        return True
    return False
