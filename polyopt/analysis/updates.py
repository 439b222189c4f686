"""Updates that may come in any order: ``A[f(i)] = A[f(i)] op value``, where no order rounds.

Sums and products of integers wrap, bits are joined one by one, and of integers the least is the
least in any order: the results are the same bit for bit. Those of floating numbers are none of
these: sums round, and of minima which zero and which NaN is left depends on their order.

(J. Doerfert, K. Streit, S. Hack and Z. Benaissa, "Polly's polyhedral scheduling in the presence of
reductions", 2015.)
"""

from __future__ import annotations

import math
import operator
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING

from polyopt.analysis.dependences import in_order
from polyopt.ir.expr import Binary, Cast, Compare, Const, Select, loads, same_expr
from polyopt.ir.types import BOOL
from polyopt.isl import union_all

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from polyopt.ir.expr import Expr
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


#: an element and a value, and whether a maximum keeps the element; where it is no number it stays,
#: and of a value that is none either may be left, as long as it is one in all orders
_MAXIMUM = (((1.0, 2.0), False), ((2.0, 1.0), True), ((math.nan, 1.0), True))
#: what conditions of minima and maxima are made of
_TESTS: dict[str, Callable[[float, float], float]] = {
    "lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip


def extreme_of(statement: Statement) -> tuple[str, frozenset[str]] | None:
    """Whether a statement keeps the ``"max"`` or ``"min"`` of floats, and the references that read
    its own element: ``m = x < m || m != m ? m : x`` as NumPy does, or ``m = m < x ? x : m``.

    In any order the result is the same number, or none where it was none before: what is free is
    which zero, and which NaN. ``None`` for others, such as ``m = m < x ? m : x``, which forgets a
    NaN at the next number.
    """
    value = statement.value
    if statement.spread or not isinstance(value, Select) or not value.type.is_float:
        return None
    keeps = statement.is_target(value.then)
    if keeps == statement.is_target(value.other):
        return None
    new = value.other if keeps else value.then
    if any(statement.is_target(load) for load in loads(new)):
        return None

    def kept(old: float, number: float) -> bool:
        def known(expr: Expr) -> float | None:
            if statement.is_target(expr):
                return old
            return number if same_expr(expr, new) else None

        return bool(_tried(value.cond, known)) == keeps

    with suppress(LookupError):
        for op, sign in (("max", 1.0), ("min", -1.0)):
            if all(kept(sign * a, sign * b) == stays for (a, b), stays in _MAXIMUM):
                own = {
                    access.ref
                    for access, load in zip(statement.reads, loads(value), strict=True)
                    if statement.is_target(load)
                }
                return op, frozenset(own)
    return None


def _tried(cond: Expr, known: Callable[[Expr], float | None]) -> float:
    """What a condition gives where some of its parts are known. Raises ``LookupError`` for what is
    on more."""
    if (found := known(cond)) is not None:
        return found
    match cond:
        case Const(value=value):
            return value
        case Compare(op=op, left=left, right=right):
            return _TESTS[op](_tried(left, known), _tried(right, known))
        case Binary(op="or", left=left, right=right) if not cond.type.is_float:
            return int(_tried(left, known)) | int(_tried(right, known))
        case Select(cond=test, then=then, other=other):
            return _tried(then if _tried(test, known) else other, known)
        case Cast(operand=operand) if operand.type == BOOL:
            return _tried(operand, known)
        case _:
            raise LookupError


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
