"""Which arrays are computed more than once: for each group that reads them, or where one reader
alone reads each element once.

An array that a stencil reads is stored, in a window of rows. What else reads it, an element at a
time, need not go through that window, nor through memory: it computes the element where it is
read, in an array of its own (``clone_stage``) that is then inlined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.scheduler.model.cache import array_bytes
from polyopt.scheduler.model.op_cost import Weights
from polyopt.scheduler.strategies.inline import ReuseAnalysis, inline_cheap, is_candidate
from polyopt.transform.schedule.remark import Remark
from polyopt.transform.source.clone_stage import maker_of

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan


def is_cheap(scop: Scop, array: str, model: SearchContext) -> bool:
    """Whether an array is worth computing once more for each group that reads it: from less than
    it takes itself."""
    statements = [s for s in scop.statements if s.array == array]
    read = dict.fromkeys(a.array for s in statements for a in s.reads if a.array != array)
    bytes_ = array_bytes(scop.array(array), model.sizes)
    if (
        bytes_ <= model.target.l2_bytes
        or sum(array_bytes(scop.array(a), model.sizes) for a in read) > bytes_
    ):
        return False
    weights = Weights.of(model.target, scop)
    each = sum(weights.evaluation(s.value) for s in statements)
    return each <= weights.through_memory


def cloned(plan: Plan, model: SearchContext) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan of the program in which some arrays are computed once more for some readers."""
    scop, weights = plan.scop, Weights.of(model.target, plan.scop)
    # no more than this is done once more in a place where the array may be near anyway
    light = weights.buffer + weights.store + weights.load
    arrays = [
        s.array
        for s in scop.statements
        if is_candidate(scop, s)
        and maker_of(scop, s.array) is not None
        and all(scop.array(a.array).role == "in" for a in s.reads)
        and weights.evaluation(s.value) <= light
        and is_cheap(scop, s.array, model)
    ]
    if not arrays:
        return plan, ()
    inlined = inline_cheap(plan, model)[0].program.inlined
    remarks: list[Remark] = []
    for array in arrays:
        readers = [] if array in inlined else _single_readers(scop, array, inlined, model)
        if readers:
            plan = plan.clone_stage(array, *readers)
            reason = "what reads each element once computes it itself"
            numbers = {"bytes": array_bytes(scop.array(array), model.sizes)}
            consumer = ", ".join(scop.statement(r).array for r in readers)
            remarks.append(
                Remark("applied", "clone_stage", array, reason, consumer, numbers=numbers)
            )
    return plan, tuple(remarks)


def _single_readers(
    scop: Scop, array: str, inlined: frozenset[str], model: SearchContext
) -> list[str]:
    """The statements that read an array for nests which read each element once; nothing unless
    other nests read elements more often."""
    reading = ReuseAnalysis(scop, model.sizes, set(inlined))
    hosts = reading.hosts(array)
    once = {
        name
        for name, taps in hosts.items()
        if reading.evaluations({name: taps}, together=True) <= 1
    }
    if not once or len(once) == len(hosts):
        return []
    direct = [s for s in scop.statements if any(a.array == array for a in s.reads)]
    #: the nests that a statement runs in
    users = {
        s.name: {s.name} if s.array not in inlined else set(reading.hosts(s.array)) for s in direct
    }
    return [name for name, nests in users.items() if nests and nests <= once]
