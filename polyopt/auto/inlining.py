"""Which producers are computed where they are read, instead of being stored at all.

A producer is inlined when repeating it costs less than storing and loading it: the work added
per element is (evaluations / instances - 1) times its operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.count import count
from polyopt.auto.work import work
from polyopt.errors import PolyoptError
from polyopt.isl import Val, context, dim_type
from polyopt.transform.remark import Remark

if TYPE_CHECKING:
    from polyopt.ir.scop import Access, Scop, Statement
    from polyopt.isl import Map
    from polyopt.transform.plan import Plan

#: operations that one store and its loads are worth, of a vector's lane
WORTH = 12.0
#: size of every parameter where reuse is counted
SAMPLE = 24
#: no right-hand side grows beyond this many operations
LARGEST = 160.0


def inline_cheap(plan: Plan) -> tuple[Plan, tuple[Remark, ...]]:
    """The plan with every producer inlined that is cheaper to repeat than to store."""
    scop = plan.scop
    remarks: list[Remark] = []
    cost = {s.name: work(s.value) for s in scop.statements}
    for statement in scop.statements:
        if not _is_candidate(scop, statement):
            continue
        uses = _uses(scop, statement)
        if not uses:
            continue
        added = (sum(uses) - 1) * cost[statement.name]
        numbers = {"evaluations per element": sum(uses),
                   "operations": cost[statement.name], "added": added}  # fmt: skip
        largest = max(_grown(scop, statement, cost, name) for name in _readers(scop, statement))
        if added > WORTH or largest > LARGEST:
            reason = "repeating it costs more than storing it"
            remarks.append(Remark("refused", "inline", statement.array, reason, numbers=numbers))
            continue
        try:
            plan = plan.inline(statement.array)
        except PolyoptError as error:
            remarks.append(_impossible(statement, error))
            continue
        for reader in _readers(scop, statement):
            cost[reader] = _grown(scop, statement, cost, reader)
        reason = "repeating it costs less than storing it"
        remarks.append(Remark("applied", "inline", statement.array, reason, numbers=numbers))
    return plan, tuple(remarks)


def _impossible(statement: Statement, error: PolyoptError) -> Remark:
    reason = error.diagnostic.message
    return Remark("refused", "inline", statement.array, reason, code=error.code)


def _is_candidate(scop: Scop, statement: Statement) -> bool:
    array = scop.array(statement.array)
    writers = [s for s in scop.statements if s.array == array.name]
    reads_itself = any(a.array == array.name for a in statement.reads)
    return array.role == "temp" and len(writers) == 1 and not reads_itself


def _readers(scop: Scop, statement: Statement) -> list[str]:
    return [s.name for s in scop.statements if any(a.array == statement.array for a in s.reads)]


def _grown(scop: Scop, statement: Statement, cost: dict[str, float], reader: str) -> float:
    """The operations of a reader once the statement is inlined in it, equal operands shared."""
    reads = [a for a in scop.statement(reader).reads if a.array == statement.array]
    return cost[reader] + len(_distinct(reads)) * cost[statement.name]


def _distinct(accesses: list[Access]) -> list[Access]:
    result: list[Access] = []
    for access in accesses:
        if not any(access.relation.is_equal(o.relation) for o in result):
            result.append(access)
    return result


def _uses(scop: Scop, statement: Statement) -> list[float]:
    """Per reader: evaluations per element of the array, equal operands counted once."""
    result: list[float] = []
    for name in _readers(scop, statement):
        reads = [a for a in scop.statement(name).reads if a.array == statement.array]
        result.append(sum(_reuse(access) for access in _distinct(reads)))
    return result


def _reuse(access: Access) -> float:
    """How many instances of the reader read one element through a reference: 1 for a stencil
    tap, the trip count of loops that the subscript does not use otherwise."""
    relation = access.relation
    if relation.is_injective():
        return 1.0
    return _overlap(relation)


def _overlap(relation: Map) -> float:
    """The reuse of an element, counted on a domain of moderate size."""
    domain = relation.domain()
    sizes: dict[str, int] = {}
    for position in range(domain.dim(dim_type.param)):
        sizes[relation.get_dim_name(dim_type.param, position) or ""] = SAMPLE
        relation = relation.fix_val(dim_type.param, position, Val.int_from_si(context(), SAMPLE))
    elements = count(relation.range(), sizes)
    events = count(relation.domain(), sizes)
    return events / elements if elements else 1.0
