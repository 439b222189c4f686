"""``explain`` and ``bill``: a plan's decisions and its cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.arguments import checks_arguments
from polyopt.codegen.target import target as find_target
from polyopt.errors import InvalidOptionError, NotDecidedError, UnknownNameError
from polyopt.explain.choices.alternatives import ANSWER_BUDGET, what_if
from polyopt.explain.remarks.explanation import Explanation
from polyopt.explain.remarks.loops import LoopExplainer
from polyopt.explain.remarks.pairs import PairExplainer, pairs_of
from polyopt.explain.remarks.precision import promotions
from polyopt.isl import budget
from polyopt.scheduler.model.cost import Cost, cost
from polyopt.scheduler.model.parameters import assumed_sizes
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.schedule.tree import loops_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from polyopt.isl import OperationLimit
    from polyopt.transform.plan import Plan

#: moves that remarks on pairs are about
OF_PAIRS = frozenset({"inline", "fuse", "root"})
#: moves that remarks on the plan's own loops are about
OF_LOOPS = frozenset({"parallelize", "vectorize", "unroll", "register_tile"})


@checks_arguments
def explain(
    plan: Plan,
    sizes: Mapping[str, int] | None = None,
    subject: str | None = None,
    *,
    if_: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Explanation:
    """What the plan does with every producer-consumer pair and every loop, and why.

    ``sizes`` are values of the parameters for the numbers in it; usual ones where they are not
    given. ``subject`` keeps only what concerns an array, a space or a loop: ``"bx"``, ``"out.y"``.

    ``progress`` hears how many of how many pairs were looked at.

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
    rows: list[Remark] = []
    allowed = budget(ANSWER_BUDGET, "the explanation")
    for number, pair in enumerate(wanted, 1):
        rows += _within(allowed, pairs.remarks(pair), "fuse", pair.producer, pair.consumer)
        if progress is not None:
            progress(number, len(wanted))
    rows += promotions(plan.scop)
    rows += of_nests(plan)
    loops = LoopExplainer(plan, known)
    for loop in loops_of(plan.program.tree):
        rows += _within(allowed, loops.remarks(loop), "parallelize", loop.name)
    result = Explanation(plan.scop.name, known, tuple(rows))
    if subject is None:
        return result
    return only_about(result, subject, lambda: explain(plan, sizes))


def only_about(
    found: Explanation, subject: str, every: Callable[[], Explanation] | None = None
) -> Explanation:
    """What concerns an array, a space or a loop; ``every`` makes all there is, to name it.

    Raises ``UnknownNameError`` where nothing does.
    """
    chosen = found.where(subject=subject)
    if chosen.rows:
        return chosen
    names = ", ".join(dict.fromkeys(r.subject for r in (every() if every else found).rows))
    message = f"nothing in this plan is called {subject!r}"
    raise UnknownNameError(message, hint=f"there are: {names or 'no remarks'}")


def _within(
    allowed: OperationLimit, remarks: Iterator[Remark], move: str, subject: str, consumer: str = ""
) -> list[Remark]:
    """The remarks that are found within a budget, and one that says so where it is spent."""
    found: list[Remark] = []
    try:
        with allowed:
            found.extend(remarks)
    except NotDecidedError as error:
        reason = error.diagnostic.message
        found.append(Remark("unknown", move, subject, reason, consumer, code=error.code))
    return found


def of_nests(plan: Plan) -> Iterator[Remark]:
    """What whoever chose the plan said of nests and arrays: what the remarks on pairs and on the
    plan's own loops do not say."""
    loops = {loop.name for loop in loops_of(plan.program.tree)}
    for remark in plan.remarks:
        of_loop = remark.subject in loops and remark.move in OF_LOOPS
        if remark.move not in OF_PAIRS and not of_loop:
            joined = f" with {remark.consumer}" if remark.consumer else ""
            yield replace(remark, reason=f"{remark.reason}{joined}", consumer="")


@checks_arguments
def bill(plan: Plan, sizes: Mapping[str, int] | None = None, *, target: str | None = None) -> Cost:
    """What the plan costs for given sizes, as a table; usual sizes where they are not given.

    Raises ``InvalidOptionError`` for an unknown target, ``NotDecidedError`` where isl's budget is
    spent.
    """
    known = assumed_sizes(plan.scop, sizes)
    with budget(ANSWER_BUDGET, f"the cost of {plan.scop.name}"):
        return cost(plan.program, known, target)
