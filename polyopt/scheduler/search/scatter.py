"""Chains of updates that nothing else makes a vector loop of, scattered along rows (right-looking).

An element that adds up what others hold, some of them known only just before, is updated one by
one. Where each of these updates whole rows once it is known, lanes share the work::

    for j: x[j] = f(x[j]); for k < j: x[j] = max(x[j], x[k] + c[k][j])

becomes

    for j: x[j] = f(x[j]); for k > j: x[k] = max(x[k], x[j] + c[j][k])     a vector loop
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import UserError
from polyopt.ir.expr import Affine, loads
from polyopt.isl import dim_type
from polyopt.scheduler.context import MOST_STATEMENTS
from polyopt.scheduler.model.objective import CLEARLY, predicted
from polyopt.scheduler.search.isl_schedule import is_side_by_side
from polyopt.transform.schedule.remark import Remark, refusal
from polyopt.transform.source.scatter_updates import not_scattered, turned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polyopt.ir.scop import Statement
    from polyopt.isl import OperationLimit
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan

#: marks of loops in which lanes share a statement's work
_SHARING = {"vector", "register_tile"}


def scattered(
    plan: Plan,
    start: Plan,
    model: SearchContext,
    allowed: OperationLimit,
    search: Callable[[Plan], Plan],
) -> Plan:
    """The plan, or that of the program with updates scattered, if it leaves less to do one by one.

    ``start`` is the plan without loops changed, ``search`` finds the best one for such a plan.
    """
    again, remarks = _scattered(start, [*_serial(plan, start)], allowed)
    names = [name for move in again.moves[len(start.moves) :] for name in move.args]
    if not names:
        return replace(plan, remarks=(*remarks, *plan.remarks))
    made = search(again)
    model.tried.setdefault("updates scattered", made)
    model.tried.setdefault("updates not scattered", plan)
    own, there = predicted(plan, model), predicted(made, model)
    numbers = {"predicted ns": there, "in the source's order": own}
    in_rows = any(_shares(made, name) for name in names)
    if not in_rows or there >= CLEARLY * own:
        reason = "its updates would be no faster in rows"
        remarks += [
            Remark("refused", "scatter_updates", name, reason, numbers=numbers) for name in names
        ]
        return replace(plan, remarks=(*remarks, *plan.remarks))
    reason = "what is known updates whole rows, in place of each element adding up one by one"
    remarks += [
        Remark("applied", "scatter_updates", name, reason, numbers=numbers) for name in names
    ]
    return replace(made, remarks=(*remarks, *made.remarks))


def _scattered(start: Plan, names: list[str], allowed: OperationLimit) -> tuple[Plan, list[Remark]]:
    """The plan with as many of the updates scattered as may be: all at once where that is legal."""
    remarks: list[Remark] = []
    together = [(*names,)] if len(names) > 1 else []
    for some in (*together, *((name,) for name in names)):
        try:
            with allowed:
                start = start.scatter_updates(*some)
        except UserError as error:
            if len(some) == 1:
                remarks.append(refusal("scatter_updates", some[0], error))
            continue
        if len(some) > 1:
            break
    return start, remarks


def _serial(plan: Plan, start: Plan) -> Iterator[str]:
    """Statements whose updates run one by one in a plan, and would go along rows if scattered."""
    if len(plan.scop.statements) > MOST_STATEMENTS:
        return
    tried = {name for move in start.moves if move.name == "scatter_updates" for name in move.args}
    for statement in plan.scop.statements:
        name = statement.name
        copies = [c for c in plan.program.places if plan.program.copies[c].statement is statement]
        if copies != [name] or name in tried:
            continue
        if _shares(plan, name) or is_side_by_side(plan.program, name, plan.program.places[name]):
            continue
        if not not_scattered(plan.scop, statement) and _goes_along_rows(turned(statement)):
            yield name


def _shares(plan: Plan, name: str) -> bool:
    """Whether lanes share the work of a statement."""
    return any(
        loop.mark in _SHARING
        for copy, place in plan.program.places.items()
        if plan.program.copies[copy].statement.name == name
        for loop in place.loops
    )


def _goes_along_rows(statement: Statement) -> bool:
    """Whether the innermost loop writes along a row, and all that it reads lies along one."""
    last = len(statement.iterators) - 1

    def moves(index: object) -> bool:
        return not isinstance(index, Affine) or index.form.involves_dims(dim_type.in_, last, 1)

    if not statement.index or not moves(statement.index[-1]):
        return False
    accessed = (statement.index, *(load.index for load in loads(statement.value)))
    return not any(moves(x) for index in accessed for x in index[:-1])
