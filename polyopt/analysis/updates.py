"""Updates that may come in any order: ``A[f(i)] = A[f(i)] op value``, where no order rounds.

Sums and products of integers wrap, bits are joined one by one, and of integers the least is the
least in any order: the results are the same bit for bit. Those of floating numbers are none of
these: sums round, and minima depend on their order where there is a NaN.

(J. Doerfert, K. Streit, S. Hack and Z. Benaissa, "Polly's polyhedral scheduling in the presence of
reductions", 2015.)
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from polyopt.analysis.dependences import in_order
from polyopt.ir.expr import Binary, loads
from polyopt.isl import union_all

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from polyopt.ir.scop import Access, Scop, Statement
    from polyopt.isl import UnionMap

#: what an update does to its element: differences are sums of the negated value
_KINDS = {
    "add": "sum", "sub": "sum", "mul": "product", "min": "minimum", "max": "maximum",
    "and": "and", "or": "or", "xor": "xor",
}  # fmt: skip


def update_of(statement: Statement) -> tuple[str, str] | None:
    """The operation of an update, and the reference that reads its own element; ``None`` for what
    is no update, or reads its element twice."""
    value = statement.value
    if statement.spread or not isinstance(value, Binary) or value.op not in _KINDS:
        return None
    sides = (value.left,) if value.op == "sub" else (value.left, value.right)
    own = [side for side in sides if statement.is_target(side)]
    if len(own) != 1:
        return None
    position = next(k for k, load in enumerate(loads(value)) if load is own[0])
    return value.op, statement.reads[position].ref


def exact_update(statement: Statement) -> tuple[str, str] | None:
    """What an update that may come in any order does (``"sum"``, ``"maximum"``, ...), and the
    reference that reads its own element; ``None`` for others."""
    found = update_of(statement)
    if found is None or statement.value.type.is_float:
        return None
    return _KINDS[found[0]], found[1]


def clashes(scop: Scop, names: Collection[str]) -> UnionMap:
    """``{ S[i] -> T[j] }`` one of which is of ``names``, and whose order matters: both access an
    element, one writes to it, and they are not two updates of it that may come in any order."""
    pairs = [
        one.relation.apply_range(other.relation.reverse()).to_union_map()
        for one, other in _pairs(scop, names)
    ]
    both = union_all([*pairs, *(pair.reverse() for pair in pairs)])
    return both.intersect_params(scop.context).coalesce()


def _pairs(scop: Scop, names: Collection[str]) -> Iterator[tuple[Access, Access]]:
    """Writes, and other accesses to the same array that do not commute with them."""
    kinds = {s.name: exact_update(s) for s in scop.statements}
    for writer, other in product(scop.statements, repeat=2):
        if writer.name not in names and other.name not in names:
            continue
        mine, theirs = kinds[writer.name], kinds[other.name]
        for access in (other.write, *other.reads):
            if access.array == writer.array and not _commute(mine, theirs, other, access):
                yield writer.write, access


def _commute(
    mine: tuple[str, str] | None,
    theirs: tuple[str, str] | None,
    other: Statement,
    access: Access,
) -> bool:
    """Whether an access is part of an update that does to its element what a write's does."""
    if mine is None or theirs is None or mine[0] != theirs[0]:
        return False
    return access.ref in {other.write.ref, theirs[1]}


def reversed_pairs(scop: Scop, pairs: UnionMap, other: Scop, to_other: UnionMap) -> UnionMap:
    """``{ S[i] -> T[j] }`` of some pairs that ``scop`` runs in this order, and ``other``, whose
    instances ``to_other`` gives, in the reverse one."""
    before = in_order(scop, pairs)
    there = before.apply_domain(to_other).apply_range(to_other)
    kept = in_order(other, there).apply_domain(to_other.reverse()).apply_range(to_other.reverse())
    return before.subtract(kept)
