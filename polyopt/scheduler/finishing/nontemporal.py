"""Non-temporal stores: for results of programs that work on more than the caches hold.

Such a result has left the caches before anybody reads it. A store through them loads each line
first, and drives out inputs that are read again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.scheduler.model.cache import argument_bytes, array_bytes
from polyopt.scheduler.model.objective import NOISE, predicted
from polyopt.scheduler.model.op_cost import Weights
from polyopt.scheduler.queries import contiguous_loop
from polyopt.transform.annotations.nontemporal import only_written
from polyopt.transform.schedule.query import copies_of
from polyopt.transform.schedule.remark import Remark

if TYPE_CHECKING:
    from polyopt.ir.scop import Array
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import ScheduledStatement

#: bytes that the loop that stores a result stores for each vector operation, operands computed in
#: place included, at least: with fewer there is time to load lines while it computes, and to go
#: through a strip takes more. Measured: harris 0.13, 6 % slower past the caches; interpolate 0.81,
#: 4 % faster
STORED = 0.5


def store_past_caches(plan: Plan, model: SearchContext) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with non-temporal stores of results, where the arrays are more than caches hold."""
    scop, last = plan.scop, model.target.last_bytes
    whole = argument_bytes(scop, model.sizes)
    numbers = {"bytes": whole, "cache bytes": last}
    remarks: list[Remark] = []
    taken: list[str] = []
    results = only_written(scop) if whole > last else ()
    own = predicted(plan, model) if results else 0.0
    for name in results:
        past = plan.store_nontemporal(name, past=last)
        times = {"predicted ns": predicted(past, model), "through the caches": own}
        said = Remark("refused", "store_nontemporal", name, "", numbers=numbers)
        if times["predicted ns"] > (1 - NOISE) * own:
            reason = "computing takes longer than moving it"
            said = replace(said, reason=reason, numbers=numbers | times)
        elif reason := _unfit(plan, scop.array(name), model):
            said = replace(said, reason=reason)
        else:
            reason = "nothing of it would be in the caches when it is read"
            said = replace(said, kind="applied", reason=reason)
            taken.append(name)
        remarks.append(said)
    return (plan.store_nontemporal(*taken, past=last) if taken else plan), tuple(remarks)


def _unfit(plan: Plan, array: Array, model: SearchContext) -> str:
    """Why a result is better stored through the caches; "" where it is not."""
    program, sizes = plan.program, model.sizes
    if any(_stored(program, copy, model) < STORED for copy in copies_of(program, array.name)):
        return "computing it takes longer than storing it"
    writes = [s for s in plan.scop.statements if s.array == array.name]
    elements = array_bytes(array, sizes) // array.type.bytes
    if sum(about(s.domain, sizes) for s in writes) > elements:
        return "its elements are stored more than once"
    rows = [contiguous_loop(program, host) for host in copies_of(program, array.name)]
    if not all(row is not None and row.mark == "vector" for row in rows):
        return "no vector loop stores its rows"
    return ""


def _stored(program: ScheduledProgram, host: str, model: SearchContext) -> float:
    """The bytes that a statement stores for each of its vector operations."""
    copy = program.copies[host]
    operands: dict[int, list[ScheduledStatement]] = {}
    for reader, _, operand in program.inlined_reads:
        operands.setdefault(id(reader), []).append(operand)

    weights = Weights.of(model.target, program.scop)

    def operations(one: ScheduledStatement) -> float:
        own = weights.evaluation(one.statement.value)
        return own + sum(map(operations, operands.get(id(one), ())))

    return model.target.vector_bytes / max(1.0, operations(copy))
