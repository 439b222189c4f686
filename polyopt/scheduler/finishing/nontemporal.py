"""Non-temporal stores: for results of programs that work on more than the caches hold.

Such a result has left the caches before anybody reads it. A store through them loads each line
first, and drives out inputs that are read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.sets.count import about
from polyopt.scheduler.model.cache import argument_bytes, array_bytes, bytes_an_operation
from polyopt.scheduler.model.op_cost import work
from polyopt.transform.annotations.nontemporal import only_written
from polyopt.transform.schedule.query import copies_of, path_to
from polyopt.transform.schedule.remark import Remark

if TYPE_CHECKING:
    from polyopt.ir.scop import Array
    from polyopt.scheduler.context import SearchContext
    from polyopt.transform.plan import Plan
    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.tree import ScheduledStatement

#: part of all bytes below which a result is not worth it
LEAST = 0.1
#: bytes for each vector operation below which memory is not what a program waits for
MOVED = 1.0
#: the same of the loop that stores a result, operands computed in place included: there is time
#: to load lines while it computes, and to go through a strip takes more (harris 0.13: 6 % slower
#: past the caches; interpolate 0.81: 4 % faster)
STORED = 0.5


def store_past_caches(plan: Plan, model: SearchContext) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with non-temporal stores of results, where the arrays are more than caches hold."""
    scop, last = plan.scop, model.target.last_bytes
    whole = argument_bytes(scop, model.sizes)
    numbers = {"bytes": whole, "cache bytes": last}
    remarks: list[Remark] = []
    taken: list[str] = []
    for name in only_written(scop) if whole > last else ():
        reason = _unfit(plan, scop.array(name), model, whole)
        kind = "refused" if reason else "applied"
        reason = reason or "nothing of it would be in the caches when it is read"
        remarks.append(Remark(kind, "store_nontemporal", name, reason, numbers=numbers))
        if kind == "applied":
            taken.append(name)
    return (plan.store_nontemporal(*taken, past=last) if taken else plan), tuple(remarks)


def _unfit(plan: Plan, array: Array, model: SearchContext, whole: int) -> str:
    """Why a result is better stored through the caches; "" where it is not."""
    program, sizes = plan.program, model.sizes
    if array_bytes(array, sizes) < LEAST * whole:
        return "it is little of what is moved"
    if bytes_an_operation(plan.scop, sizes, model.target.vector_bytes) < MOVED:
        return "computing takes longer than moving it"
    if any(_stored(program, copy, model) < STORED for copy in copies_of(program, array.name)):
        return "computing it takes longer than storing it"
    writes = [s for s in plan.scop.statements if s.array == array.name]
    elements = array_bytes(array, sizes) // array.type.bytes
    if sum(about(s.domain, sizes) for s in writes) > elements:
        return "its elements are stored more than once"
    hosts = copies_of(program, array.name)
    around = (path_to(program, path[-1].name) for h in hosts if (path := program.places[h].loops))
    if not all(any(loop.mark == "vector" for loop in path) for path in around):
        return "no vector loop stores it"
    return ""


def _stored(program: ScheduledProgram, host: str, model: SearchContext) -> float:
    """The bytes that a statement stores for each of its vector operations."""
    copy = program.copies[host]
    operands: dict[int, list[ScheduledStatement]] = {}
    for reader, _, operand in program.inlined_reads:
        operands.setdefault(id(reader), []).append(operand)

    def operations(one: ScheduledStatement) -> float:
        return work(one.statement.value) + sum(map(operations, operands.get(id(one), ())))

    return model.target.vector_bytes / max(1.0, operations(copy))
