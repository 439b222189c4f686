"""Separable windows: which filters become a column and a row pass, and which reductions share
partial ones.

Five by five terms are ten then, and elements of the first pass, a row of them, stay in the
first-level cache. Filters pay only where the row does not go through memory: a plan that stores
all of the first pass is not taken. Reductions, whose windows may be as large as one likes, are
taken where the whole plan is predicted to take less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.errors import UserError
from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.model.objective import CLEARLY
from polyopt.scheduler.model.op_cost import Weights
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.source.separate_filter import separate_filter, window_of
from polyopt.transform.source.separate_reduction import not_reducing, shared_rows

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan

STORED = "the first pass would be stored as a whole"
SLOWER = "with an array of rows a call is predicted to take as long"


def in_passes(plan: Plan, model: SearchContext) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan of the program with separable windows in passes, and what was decided."""
    weights = Weights.of(model.target, plan.scop)
    names: list[str] = []
    remarks: list[Remark] = []
    for statement in plan.scop.statements:
        if window_of(plan.scop, statement) is None:
            continue
        before = weights.evaluation(statement.value)
        after = _work_in_passes(plan.scop, statement.name, weights)
        numbers = {"operations": before, "in two passes": after}
        if after < CLEARLY * before:
            names.append(statement.name)
            kind, reason = "applied", "its weights are products of one per row and one per column"
        else:
            kind, reason = "refused", "two passes cost as much"
        remarks.append(Remark(kind, "separate_filter", statement.array, reason, numbers=numbers))
    return (plan.separate_filter(*names) if names else plan), tuple(remarks)


def sharing_rows(plan: Plan, model: SearchContext) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan of the program whose reductions over windows share partial ones, dimension after
    dimension, where that is less work; and what was decided."""
    remarks: list[Remark] = []
    waiting = [s.name for s in plan.scop.statements]
    while waiting:
        name = waiting.pop(0)
        scop, statement = plan.scop, plan.scop.statement(name)
        reason = not_reducing(scop, statement, floats=model.reassociate)
        rows = None if reason else next(shared_rows(scop, statement), None)
        if rows is None:
            continue
        weights = Weights.of(model.target, scop)
        update = weights.evaluation(statement.value)
        before = about(statement.domain, model.sizes) * update
        after = about(rows.runs, model.sizes) * update
        after += about(rows.across_runs, model.sizes) * (weights.load + 1.0)
        numbers = {"operations": before, "with shared rows": after}
        kind, reason = "refused", "results share too few rows"
        if after < CLEARLY * before:
            kind, reason = "applied", "results that lie beside each other share rows of the window"
            free = statement.value.type.is_float
            plan = plan.separate_reduction(name, reassociate=free)
            waiting.insert(0, rows.names[0])
        remarks.append(Remark(kind, "separate_reduction", statement.array, reason, numbers=numbers))
    return plan, tuple(remarks)


def _work_in_passes(scop: Scop, name: str, weights: Weights) -> float:
    try:
        made = separate_filter(scop, name)
    except UserError:
        return float("inf")
    at = next(k for k, s in enumerate(made.statements) if s.name == name)
    each = sum(weights.evaluation(s.value) for s in made.statements[at - 1 : at + 1])
    return each + weights.store + weights.buffer


def stored(plan: Plan, model: SearchContext) -> tuple[str, ...]:
    """The arrays between passes that a plan keeps whole, and that leave the cache."""
    known = {a.name for a in plan.source.arrays}
    program = plan.program
    found = {
        program.copies[name].statement.array
        for name in program.places
        if program.store(name, program.copies[name].statement.array, reading=False) is None
    }
    return tuple(
        a.name
        for a in plan.scop.arrays
        if a.name in found - known and array_bytes(a, model.sizes) > model.target.l2_bytes
    )


def refused(remarks: tuple[Remark, ...], reason: str) -> tuple[Remark, ...]:
    """The remarks where the plan of the program as it was is taken."""
    return tuple(
        replace(r, kind="refused", reason=reason) if r.kind == "applied" else r for r in remarks
    )
