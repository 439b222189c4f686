"""``explain`` and ``bill``: a plan's decisions and its cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.auto.cost import Cost, cost
from polyopt.auto.sizes import assumed_sizes
from polyopt.codegen.target import target as find_target
from polyopt.errors import InvalidOptionError, UnknownNameError
from polyopt.explain.alternatives import what_if
from polyopt.explain.explanation import Explanation
from polyopt.explain.loops import LoopExplainer
from polyopt.explain.pairs import PairExplainer, pairs_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.transform.plan import Plan
    from polyopt.transform.remark import Remark


#: moves of the search that are about the order of whole nests
_ORDERS = frozenset({"reschedule", "defer", "cut"})


def explain(
    plan: Plan,
    sizes: Mapping[str, int] | None = None,
    subject: str | None = None,
    *,
    if_: str | None = None,
) -> Explanation:
    """What the plan does with every producer-consumer pair and every loop, and why.

    ``sizes`` are values of the parameters for the numbers in it; usual ones where they are not
    given. ``subject`` keeps only what concerns an array, a space or a loop: ``"bx"``, ``"out.y"``.

    ``if_`` asks instead what a producer, the subject, would bring in another place; see
    ``explain.placements.PLACES``.

    Raises ``UnknownNameError`` where nothing of that name is in the program,
    ``InvalidOptionError`` for an unknown place, or for one without a subject.
    """
    known = assumed_sizes(plan.scop, sizes)
    if if_ is not None:
        if subject is None:
            message = f"if_={if_!r} says where, not what"
            raise InvalidOptionError(message, hint='name a producer: explain("bx", if_="root")')
        remark = what_if(plan, subject, if_, known, find_target("native"))
        return Explanation(plan.scop.name, known, (remark,))
    pairs = PairExplainer(plan, known)
    wanted = [p for p in pairs_of(plan) if subject is None or subject in {p.producer, p.consumer}]
    rows: list[Remark] = [remark for pair in wanted for remark in pairs.remarks(pair)]
    rows += [remark for remark in plan.remarks if remark.move in _ORDERS]
    rows += LoopExplainer(plan, known).all()
    result = Explanation(plan.scop.name, known, tuple(rows))
    if subject is None:
        return result
    chosen = result.where(subject=subject)
    if not chosen.rows:
        names = ", ".join(dict.fromkeys(r.subject for r in explain(plan, sizes).rows))
        message = f"nothing in this plan is called {subject!r}"
        raise UnknownNameError(message, hint=f"there are: {names}")
    return chosen


def bill(plan: Plan, sizes: Mapping[str, int] | None = None, *, target: str | None = None) -> Cost:
    """What the plan costs for given sizes, as a table; usual sizes where they are not given.

    Raises ``InvalidOptionError`` for an unknown target.
    """
    return cost(plan.program, assumed_sizes(plan.scop, sizes), target)
