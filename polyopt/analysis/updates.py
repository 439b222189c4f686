"""Updates that may come in any order: ``A[f(i)] = A[f(i)] op value``, where no order rounds.

Sums and products of integers wrap, bits are joined one by one, and of integers the least is the
least in any order: the results are the same bit for bit. Those of floating numbers are none of
these: sums round, and minima depend on their order where there is a NaN.

(J. Doerfert, K. Streit, S. Hack and Z. Benaissa, "Polly's polyhedral scheduling in the presence of
reductions", 2015.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.analysis.dependences import in_order
from polyopt.ir.expr import Binary, Load, loads, same_expr
from polyopt.isl import empty_map

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from polyopt.ir.scop import Access, Scop, Statement
    from polyopt.isl import UnionMap

#: what an update does to its element: differences are sums of the negated value
_KINDS = {
    "add": "sum", "sub": "sum", "mul": "product", "min": "minimum", "max": "maximum",
    "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip


def update_of(statement: Statement) -> tuple[str, str] | None:
    """What an update does (``"sum"``, ``"maximum"``, ...), and the reference that reads its own
    element; ``None`` for what is no update, or reads its element twice."""
    value = statement.value
    if statement.spread or not isinstance(value, Binary) or value.op not in _KINDS:
        return None
    sides = (value.left,) if value.op == "sub" else (value.left, value.right)
    own = [side for side in sides if _is_target(statement, side)]
    if len(own) != 1:
        return None
    position = next(k for k, load in enumerate(loads(value)) if load is own[0])
    return _KINDS[value.op], statement.reads[position].ref


def exact_update(statement: Statement) -> tuple[str, str] | None:
    """The same of those that may come in any order: integers'."""
    return None if statement.value.type.is_float else update_of(statement)


def clashes(scop: Scop, names: Iterable[str]) -> UnionMap:
    """``{ S[i] -> T[j] }`` one of which is of ``names``, and whose order matters: both access an
    element, one writes to it, and they are not two updates of it that may come in any order."""
    result = empty_map()
    wanted = {*names}
    for one, other in _pairs(scop):
        if wanted.isdisjoint({one[0].name, other[0].name}):
            continue
        both = one[1].relation.apply_range(other[1].relation.reverse()).to_union_map()
        result = result.union(both).union(both.reverse())
    return result.intersect_params(scop.context).coalesce()


def _pairs(scop: Scop) -> Iterator[tuple[tuple[Statement, Access], tuple[Statement, Access]]]:
    """Writes, and other accesses to the same array that do not commute with them."""
    every = [(s, access) for s in scop.statements for access in (s.write, *s.reads)]
    for writer in scop.statements:
        for statement, access in every:
            if access.array != writer.array or _commute(writer, statement, access):
                continue
            yield (writer, writer.write), (statement, access)


def _commute(writer: Statement, statement: Statement, access: Access) -> bool:
    """Whether an access is part of an update that does to its element what the writer does."""
    one, other = exact_update(writer), exact_update(statement)
    if one is None or other is None or one[0] != other[0]:
        return False
    return access.ref in {statement.write.ref, other[1]}


def reversed_pairs(scop: Scop, pairs: UnionMap, other: Scop, to_other: UnionMap) -> UnionMap:
    """``{ S[i] -> T[j] }`` of some pairs that ``scop`` runs in this order, and ``other``, whose
    instances ``to_other`` gives, in the reverse one."""
    before = in_order(scop, pairs)
    there = before.apply_domain(to_other).apply_range(to_other)
    kept = in_order(other, there).apply_domain(to_other.reverse()).apply_range(to_other.reverse())
    return before.subtract(kept)


def _is_target(statement: Statement, expr: object) -> bool:
    if not isinstance(expr, Load) or expr.array != statement.array:
        return False
    return all(map(same_expr, expr.index, statement.index))
