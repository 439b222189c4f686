"""Which producers are computed where they are read, instead of being stored at all.

A producer is inlined when repeating it costs less than storing and loading it: the work added
per element is (evaluations / instances - 1) times its operations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.auto.work import work
from polyopt.errors import PolyoptError
from polyopt.isl import dim_type, tuple_name
from polyopt.transform.inline import inline
from polyopt.transform.remark import Remark

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop, Statement
    from polyopt.transform.program import Program

#: operations that one store and its loads are worth, of a vector's lane
WORTH = 12.0
#: no right-hand side grows beyond this many operations
LARGEST = 160.0


@dataclass(frozen=True)
class _Use:
    """How an array is read: how often per consumer instance, and the evaluations it would take."""

    consumers: int
    per_instance: float


def inline_cheap(program: Program) -> tuple[Program, tuple[Remark, ...]]:
    """The program with every producer inlined that is cheaper to repeat than to store."""
    scop = program.scop
    remarks: list[Remark] = []
    cost = {s.name: work(s.value) for s in scop.statements}
    for statement in scop.statements:
        if not _is_candidate(scop, statement):
            continue
        uses = _uses(scop, statement, program.inlined)
        if not uses:
            continue
        added = (sum(u.per_instance for u in uses) - 1) * cost[statement.name]
        numbers = {"evaluations per element": sum(u.per_instance for u in uses),
                   "operations": cost[statement.name], "added": added}  # fmt: skip
        largest = max(_grown(scop, statement, cost, name) for name in _readers(scop, statement))
        if added > WORTH or largest > LARGEST:
            reason = "repeating it costs more than storing it"
            remarks.append(Remark("refused", "inline", statement.array, reason, numbers=numbers))
            continue
        try:
            program = inline(program, statement.array)
        except PolyoptError as error:
            remarks.append(_impossible(statement, error))
            continue
        for reader in _readers(scop, statement):
            cost[reader] = _grown(scop, statement, cost, reader)
        reason = "repeating it costs less than storing it"
        remarks.append(Remark("applied", "inline", statement.array, reason, numbers=numbers))
    return program, tuple(remarks)


def _impossible(statement: Statement, error: PolyoptError) -> Remark:
    reason = error.diagnostic.message
    return Remark("refused", "inline", statement.array, reason, code=error.code)


def _is_candidate(scop: Scop, statement: Statement) -> bool:
    array = scop.array(statement.array)
    writers = [s for s in scop.statements if s.array == array.name]
    reads_itself = any(a.array == array.name for a in statement.reads)
    return array.role == "temp" and len(writers) == 1 and not reads_itself


def _readers(scop: Scop, statement: Statement) -> list[str]:
    return [
        s.name for s in scop.statements if any(a.array == statement.array for a in s.reads)
    ]


def _grown(scop: Scop, statement: Statement, cost: dict[str, float], reader: str) -> float:
    """The operations of a reader once the statement is inlined in it, equal operands shared."""
    reads = [a for a in scop.statement(reader).reads if a.array == statement.array]
    return cost[reader] + len(_distinct(reads)) * cost[statement.name]


def _distinct(accesses: list[object]) -> list[object]:
    result: list[object] = []
    for access in accesses:
        if not any(access.relation.is_equal(o.relation) for o in result):  # type: ignore[attr-defined]
            result.append(access)
    return result


def _uses(scop: Scop, statement: Statement, inlined: frozenset[str]) -> list[_Use]:
    """Per reader: evaluations per element of the array, by the reuse of each element."""
    result: list[_Use] = []
    for name in _readers(scop, statement):
        reader = scop.statement(name)
        reads = [a for a in reader.reads if a.array == statement.array]
        again = _repeats(scop, reader, inlined)
        per_read = sum(_reuse(reader, access) for access in _distinct(reads))
        result.append(_Use(1, per_read * again))
    return result


def _repeats(scop: Scop, reader: Statement, inlined: frozenset[str]) -> float:
    """How often a reader itself is evaluated per instance (it may be inlined later; counted once)."""
    del scop, reader, inlined
    return 1.0


def _reuse(reader: Statement, access: object) -> float:
    """How many instances of the reader read one element through a reference: 1 for a stencil
    tap, the trip count of loops that the subscript does not use otherwise."""
    relation = access.relation  # type: ignore[attr-defined]
    if relation.is_injective():
        return 1.0 if _keeps_rank(relation) else 0.5
    return _overlap(reader, relation)


def _keeps_rank(relation: object) -> bool:
    return relation.dim(dim_type.in_) >= relation.dim(dim_type.out)  # type: ignore[attr-defined]


def _overlap(reader: Statement, relation: object) -> float:
    """The reuse of an element, sampled in the middle of a domain of moderate size."""
    from polyopt.analysis.count import count
    from polyopt.isl import Val, context

    del reader
    domain = relation.domain()  # type: ignore[attr-defined]
    sizes = {
        domain.get_dim_name(dim_type.param, i): 24 for i in range(domain.dim(dim_type.param))
    }
    for name, size in sizes.items():
        position = relation.find_dim_by_name(dim_type.param, name)  # type: ignore[attr-defined]
        relation = relation.fix_val(  # type: ignore[attr-defined]
            dim_type.param, position, Val.int_from_si(context(), size)
        )
    elements = count(relation.range(), sizes)  # type: ignore[attr-defined]
    events = count(relation.domain(), sizes)  # type: ignore[attr-defined]
    return events / elements if elements else 1.0


__all__ = ["LARGEST", "WORTH", "inline_cheap", "replace", "tuple_name"]
