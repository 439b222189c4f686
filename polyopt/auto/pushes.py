"""Chains of updates that nothing else makes a vector loop of, pushed along rows.

An element that adds up what others hold, some of them known only just before, is updated one by
one. Where each of these updates whole rows once it is known, lanes share the work::

    for j: x[j] = f(x[j]); for k < j: x[j] = max(x[j], x[k] + c[k][j])

becomes

    for j: x[j] = f(x[j]); for k > j: x[k] = max(x[k], x[j] + c[j][k])     a vector loop
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.auto.affine import LEAST_GAIN, MOST_STATEMENTS, is_side_by_side, weigh
from polyopt.auto.nests import refusal
from polyopt.errors import PolyoptError
from polyopt.ir.expr import Affine, loads
from polyopt.isl import dim_type
from polyopt.transform.push import not_pushed, turned
from polyopt.transform.remark import Remark

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from polyopt.auto.grouping import Model
    from polyopt.ir.scop import Statement
    from polyopt.transform.plan import Plan

#: marks of loops in which lanes share a statement's work
_SHARING = {"vector", "registers"}


def pushed(plan: Plan, start: Plan, model: Model, search: Callable[[Plan], Plan]) -> Plan:
    """The plan, or that of the program with updates pushed, if it leaves less to do one by one.

    ``start`` is the plan without loops changed, ``search`` finds the best one for such a plan.
    """
    remarks: list[Remark] = []
    again, names = start, list[str]()
    for name in _serial(plan, start):
        try:
            again = again.push(name)
            names.append(name)
        except PolyoptError as error:
            remarks.append(refusal("push", name, error))
    if not names:
        return replace(plan, remarks=(*remarks, *plan.remarks))
    made = search(again)
    own, there = weigh(plan, model), weigh(made, model)
    numbers = {"serial operations": there.serial, "in the source's order": own.serial}
    if there.cost >= LEAST_GAIN * own.cost:
        reason = "its updates would be no faster in rows"
        remarks += [Remark("refused", "push", name, reason, numbers=numbers) for name in names]
        return replace(plan, remarks=(*remarks, *plan.remarks))
    reason = "what is known updates whole rows, in place of each element adding up one by one"
    remarks += [Remark("applied", "push", name, reason, numbers=numbers) for name in names]
    return replace(made, remarks=(*remarks, *made.remarks))


def _serial(plan: Plan, start: Plan) -> Iterator[str]:
    """Statements whose updates run one by one in a plan, and would go along rows if pushed."""
    if len(plan.scop.statements) > MOST_STATEMENTS:
        return
    tried = {name for move in start.moves if move.name == "push" for name in move.args}
    for statement in plan.scop.statements:
        name = statement.name
        copies = [c for c in plan.program.places if plan.program.copies[c].statement is statement]
        if copies != [name] or name in tried:
            continue
        place = plan.program.places[name]
        if any(loop.mark in _SHARING for loop in place.loops):
            continue
        if is_side_by_side(plan.program, name, place):
            continue
        if not not_pushed(plan.scop, statement) and _goes_along_rows(turned(statement)):
            yield name


def _goes_along_rows(statement: Statement) -> bool:
    """Whether the innermost loop writes along a row, and all that it reads lies along one."""
    last = len(statement.iterators) - 1

    def moves(index: object) -> bool:
        return not isinstance(index, Affine) or index.form.involves_dims(dim_type.in_, last, 1)

    if not statement.index or not moves(statement.index[-1]):
        return False
    accessed = (statement.index, *(load.index for load in loads(statement.value)))
    return not any(moves(x) for index in accessed for x in index[:-1])
