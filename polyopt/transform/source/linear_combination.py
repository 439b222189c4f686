"""Linear combinations of integers: their terms, and whether two of them are the same.

Integers wrap modulo 2^bits, so that sums of theirs may be added up in any order and factors taken
out of them: results are the same bit for bit. Floating sums are none of these.

relation: a sum is ``weight -> { S[i] -> A[x] }``, one pair per term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.ir.expr import Affine, Binary, Cast, Const, Expr, Load, Unary, loads
from polyopt.isl import PwMultiAff, dim_type, tuple_name

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop, Statement
    from polyopt.ir.types import ScalarType
    from polyopt.isl import Map

#: weight and element; the element of a constant term is ``None``
Term = tuple[int, "Expr | None"]
#: weight, conversions, ``{ S[i] -> A[x] }``; no relation for constants
Weighted = tuple[int, str, "Map | None"]


def terms(expr: Expr) -> list[Term] | None:
    """The terms of a weighted sum of elements; ``None`` for what is none.

    An element is a load, also one converted to another integer type.
    """
    if not expr.type.is_integer:
        return None
    return _terms(expr, expr.type)


def _terms(expr: Expr, type_: ScalarType) -> list[Term] | None:
    if expr.type != type_:
        return None
    if _is_element(expr):
        return [(1, expr)]
    match expr:
        case Const():
            return [(int(expr.value), None)]
        case Unary(op="neg"):
            return _times(_terms(expr.operand, type_), -1)
        case Binary(op="add" | "sub"):
            left, right = _terms(expr.left, type_), _terms(expr.right, type_)
            right = _times(right, -1) if expr.op == "sub" else right
            return None if left is None or right is None else [*left, *right]
        case Binary(op="mul", left=Const() as weight, right=other):
            return _times(_terms(other, type_), int(weight.value))
        case Binary(op="mul", left=other, right=Const() as weight):
            return _times(_terms(other, type_), int(weight.value))
        case _:
            return None


def _times(found: list[Term] | None, factor: int) -> list[Term] | None:
    return None if found is None else [(weight * factor, element) for weight, element in found]


def _is_element(expr: Expr) -> bool:
    if isinstance(expr, Cast):
        return expr.operand.type.is_integer and _is_element(expr.operand)
    return isinstance(expr, Load) and all(isinstance(i, Affine) for i in expr.index)


def element_load(element: Expr) -> Load:
    """The load of an element that may be converted."""
    return element if isinstance(element, Load) else element_load(element.children[0])


def expanded(
    found: list[Term], statement: Statement, added: dict[str, Statement], scop: Scop
) -> list[Weighted] | None:
    """The terms of a statement's sum, with the elements of arrays that passes write (``added``)
    replaced by what they add up; ``None`` where that is not possible."""
    result: list[Weighted] = []
    relations = {
        id(load): access
        for load, access in zip(loads(statement.value), statement.reads, strict=True)
    }
    for weight, element in found:
        if element is None:
            result.append((weight, "", None))
            continue
        load = element_load(element)
        relation = relations[id(load)].relation
        if load.array not in added:
            result.append((weight, _conversions(element), relation))
            continue
        maker = added[load.array]
        inner = terms(maker.value)
        made = relation.apply_range(maker.write.relation.reverse())
        wanted = relation.domain().intersect_params(scop.context)
        whole = wanted.is_subset(made.domain()) and made.is_single_valued()
        below = {a: s for a, s in added.items() if s is not maker}
        deeper = None if inner is None else expanded(inner, maker, below, scop)
        if deeper is None or not whole or load is not element or maker.spread:
            return None
        for more, casts, access in deeper:
            onward = None if access is None else made.apply_range(access)
            result.append((weight * more, casts, onward))
    return result


def _conversions(element: Expr) -> str:
    """The types that an element goes through."""
    if isinstance(element, Cast):
        return f"{element.type}({_conversions(element.operand)})"
    return str(element.type)


def agree(one: list[Weighted] | None, other: list[Weighted] | None, bits: int) -> bool:
    """Whether two sums have the same weight, modulo 2^bits, for each element."""
    if one is None or other is None:
        return False
    total: dict[tuple[str, str], Weighted] = {}
    for sign, found in ((1, one), (-1, other)):
        for weight, casts, relation in found:
            key = casts, _text(relation)
            known = total.get(key, (0, casts, relation))[0]
            total[key] = known + sign * weight, casts, relation
    left = [term for term in total.values() if term[0] % (1 << bits)]
    while left:
        _, casts, relation = left[0]
        alike = [t for t in left if t[1] == casts and _is_same(t[2], relation)]
        if sum(weight for weight, _, _ in alike) % (1 << bits):
            return False
        left = [t for t in left if not any(t is other for other in alike)]
    return True


def _is_same(one: Map | None, other: Map | None) -> bool:
    if one is None or other is None:
        return one is other
    same = tuple_name(one, dim_type.out) == tuple_name(other, dim_type.out)
    return same and one.is_equal(other)


def _text(relation: Map | None) -> str:
    """Equal only for equal values: both sums have one domain. Equal values may be spelled twice."""
    if relation is None:
        return ""
    form = PwMultiAff.from_map(relation)
    return str(form.gist(form.domain()))
