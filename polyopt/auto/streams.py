"""Which results are stored past the caches: those of programs that work on more than these hold.

Such a result has left the caches before anybody reads it. A store through them loads each line
first, and drives out inputs that are read again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.count import about
from polyopt.auto.traffic import argument_bytes, array_bytes, bytes_an_operation
from polyopt.transform.find import copies_of, path_to
from polyopt.transform.remark import Remark
from polyopt.transform.stream import streamable

if TYPE_CHECKING:
    from polyopt.auto.grouping import Model
    from polyopt.ir.scop import Array
    from polyopt.transform.plan import Plan

#: part of all bytes below which a result is not worth it
LEAST = 0.1
#: bytes for each vector operation below which memory is not what a program waits for
MOVED = 2.0


def streams(plan: Plan, model: Model) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with results stored past the caches, where the arrays are more than they hold."""
    scop, last = plan.scop, model.target.last_bytes
    whole = argument_bytes(scop, model.sizes)
    numbers = {"bytes": whole, "cache bytes": last}
    remarks: list[Remark] = []
    taken: list[str] = []
    for name in streamable(scop) if whole > last else ():
        reason = _unfit(plan, scop.array(name), model, whole)
        kind = "refused" if reason else "applied"
        reason = reason or "nothing of it would be in the caches when it is read"
        remarks.append(Remark(kind, "stream", name, reason, numbers=numbers))
        if kind == "applied":
            taken.append(name)
    return (plan.stream(*taken, past=last) if taken else plan), tuple(remarks)


def _unfit(plan: Plan, array: Array, model: Model, whole: int) -> str:
    """Why a result is better stored through the caches; "" where it is not."""
    program, sizes = plan.program, model.sizes
    if array_bytes(array, sizes) < LEAST * whole:
        return "it is little of what is moved"
    if bytes_an_operation(plan.scop, sizes, model.target.vector_bytes) < MOVED:
        return "computing takes longer than moving it"
    writes = [s for s in plan.scop.statements if s.array == array.name]
    elements = array_bytes(array, sizes) // array.type.bytes
    if sum(about(s.domain, sizes) for s in writes) > elements:
        return "its elements are stored more than once"
    hosts = copies_of(program, array.name)
    around = (path_to(program, path[-1].name) for h in hosts if (path := program.places[h].loops))
    if not all(any(loop.mark == "vector" for loop in path) for path in around):
        return "no vector loop stores it"
    return ""
