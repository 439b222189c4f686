"""Remarks on what the C compiler made of a kernel: vector loops that are no vectors."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from polyopt.explain.reasons import explain, only_about
from polyopt.explain.remarks.explanation import Explanation
from polyopt.scheduler.model.instances import trips
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import copies_in, loops_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from polyopt.runtime.kernel import Kernel
    from polyopt.runtime.reports.vector_loops import VectorFact
    from polyopt.source import Span
    from polyopt.transform.plan import Plan


def explain_kernel(
    kernel: Kernel, sizes: Mapping[str, int] | None = None, subject: str | None = None
) -> Explanation:
    """The remarks on a kernel's plan, and on its vector loops that the compiler made no vectors of.

    Raises ``UnknownNameError`` where nothing is called ``subject``.
    """
    plan = kernel.plan
    if plan is None:
        found = Explanation(kernel.name, dict(sizes or {}), tuple(compiler_remarks(kernel)))
    else:
        known = assumed_sizes(plan.scop, sizes)
        rows = (*explain(plan, known), *compiler_remarks(kernel, known))
        found = Explanation(plan.scop.name, known, rows)
    return found if subject is None else only_about(found, subject)


def compiler_remarks(kernel: Kernel, sizes: Mapping[str, int] | None = None) -> Iterator[Remark]:
    """A remark for each loop of the plan, and each reason, that the C compiler made no vectors
    for. Several loops of the C may be one of the plan's: whole tiles and what is left of them."""
    every = kernel.vector_loops
    groups: dict[tuple[str, str, str], list[VectorFact]] = defaultdict(list)
    for fact in every.missed:
        groups[fact.name, fact.reason, fact.hint].append(fact)
    for (name, reason, hint), missed in groups.items():
        count = sum(fact.name == name for fact in every)
        told = f"the C compiler made no vectors of it: {reason}; {_where(missed, count)}"
        numbers = _iterations(kernel.plan, name, sizes)
        span = _span(kernel.plan, name)
        yield Remark("refused", "vectorize", name, told, numbers=numbers, hint=hint, span=span)


def _where(missed: Sequence[VectorFact], count: int) -> str:
    """``line 62 of the C, 1 of 2 loops``."""
    lines = ", ".join(str(fact.line) for fact in missed)
    at = f"line{'s' * (len(missed) > 1)} {lines} of the C"
    return f"{at}, {len(missed)} of {count} loops" if count > 1 else at


def _iterations(plan: Plan | None, name: str, sizes: Mapping[str, int] | None) -> dict[str, float]:
    """How often a loop of the plan runs, where it is one."""
    if plan is None or sizes is None:
        return {}
    loop = next((loop for loop in loops_of(plan.program.tree) if loop.name == name), None)
    return {} if loop is None else {"iterations": trips(plan.program, loop, sizes)}


def _span(plan: Plan | None, name: str) -> Span | None:
    """The place of the first statement in a loop of the plan."""
    if plan is None:
        return None
    copies = plan.program.copies
    inside = (c for loop in loops_of(plan.program.tree) if loop.name == name
              for c in copies_in(loop))  # fmt: skip
    return next((copies[name].statement.span for name in inside), None)
