"""Weighted sums of integers: their terms, and that two programs add up the same ones.

Integers wrap modulo 2^bits, so that sums of theirs may be added up in any order and factors taken
out of them: results are the same bit for bit. Floating sums are none of these.

relation: a sum is ``weight -> { S[i] -> A[x] }``, one pair per term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from polyopt.errors import IllegalScheduleError
from polyopt.ir.block import Block
from polyopt.ir.expr import (
    Affine,
    Binary,
    Cast,
    Const,
    Expr,
    Load,
    Unary,
    loads,
    payload,
    same_expr,
)
from polyopt.isl import PwMultiAff, budget, dim_type, tuple_name
from polyopt.transform.parallel import Obligation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.ir.scop import Loop, Scop, Statement
    from polyopt.ir.types import ScalarType
    from polyopt.isl import Map

#: isl operations that comparing the sums of two programs may take
BUDGET = 20_000_000
#: weight and element; the element of a constant term is ``None``
Term = tuple[int, "Expr | None"]


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


# -- that two programs add up the same --------------------------------------------------------


#: programs that were shown to be their sources, with the statements whose sums have passes
_SHOWN: WeakKeyDictionary[Scop, tuple[Scop, tuple[str, ...]]] = WeakKeyDictionary()


def sums_shown(source: Scop, scop: Scop) -> tuple[Obligation, ...]:
    """What was shown of a program whose sums are added up in passes; nothing for the source.

    Raises ``IllegalScheduleError`` where its sums are not the source's.
    """
    if scop is source:
        return ()
    if scop not in _SHOWN or _SHOWN[scop][0] is not source:
        with budget(BUDGET, "the sums in passes"):
            _SHOWN[scop] = source, check_sums(source, scop)
    names = ", ".join(_SHOWN[scop][1])
    return (Obligation("sums", f"added up in passes with the source's weights: {names}"),)


def check_sums(source: Scop, scop: Scop) -> tuple[str, ...]:
    """Show that ``scop`` is ``source`` but for sums that are added up in passes; which these are.

    *Requires* that a pass writes an array of its own, whole, right before the one nest that reads
    it: then nothing that it reads is written between. Raises ``IllegalScheduleError``.
    """
    known = {s.name: s for s in source.statements}
    added = {s.array: s for s in scop.statements if s.name not in known}
    if {a.name for a in scop.arrays} - {a.name for a in source.arrays} != set(added):
        raise _no_source("its arrays are not the source's")
    if not all(any(a is b for b in scop.arrays) for a in source.arrays):
        raise _no_source("its arrays are not the source's")
    if _skeleton(scop.nest, {s.name for s in added.values()}) != _skeleton(source.nest, set()):
        raise _no_source("its loops are not the source's")
    changed: list[str] = []
    for statement in scop.statements:
        own = known.get(statement.name)
        if own is None or own is statement:
            continue
        _check_statement(own, statement, added, scop)
        changed.append(statement.name)
    used = {
        access.array
        for s in scop.statements
        for access in s.reads
        if access.array in added and s.array not in added and s.name not in changed
    }
    if used or set(known) - {s.name for s in scop.statements}:
        raise _no_source("a statement of the source is missing or reads other arrays")
    _check_places(scop, added)
    return tuple(changed)


def _check_statement(
    own: Statement, statement: Statement, added: dict[str, Statement], scop: Scop
) -> None:
    same_target = (
        own.array == statement.array
        and own.domain.is_equal(statement.domain)
        and len(own.index) == len(statement.index)
        and all(map(same_expr, own.index, statement.index))
        and not own.spread
        and not statement.spread
    )
    if not same_target or not _same(own.value, own, statement.value, statement, added, scop):
        raise _no_source(f"{own.name} is another sum", own)


def _same(
    one: Expr,
    own: Statement,
    other: Expr,
    statement: Statement,
    added: dict[str, Statement],
    scop: Scop,
) -> bool:
    """Whether two values are the same but for sums in passes."""
    if isinstance(one, Block) or isinstance(other, Block) or one.type != other.type:
        return False
    passes = any(load.array in added for load in loads(other))
    if not passes:
        return same_expr(one, other)
    mine, theirs = terms(one), terms(other)
    if mine is not None and theirs is not None:
        found = _sum(mine, own, {}, scop), _sum(theirs, statement, added, scop)
        return _agree(*found, one.type.bits)
    alike = type(one) is type(other) and payload(one) == payload(other)
    if not alike or isinstance(one, Load) or len(one.children) != len(other.children):
        return False
    return all(
        _same(a, own, b, statement, added, scop)
        for a, b in zip(one.children, other.children, strict=True)
    )


#: weight, conversions, ``{ S[i] -> A[x] }``; no relation for constants
_Weighted = tuple[int, str, "Map | None"]


def _sum(
    found: list[Term], statement: Statement, added: dict[str, Statement], scop: Scop
) -> list[_Weighted] | None:
    """The terms with passes replaced by what they add up; ``None`` where that is not possible."""
    result: list[_Weighted] = []
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
        deeper = None if inner is None else _sum(inner, maker, below, scop)
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


def _agree(one: list[_Weighted] | None, other: list[_Weighted] | None, bits: int) -> bool:
    """Whether two sums have the same weight, modulo 2^bits, for each element."""
    if one is None or other is None:
        return False
    total: dict[tuple[str, str], _Weighted] = {}
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


def _skeleton(nest: tuple[Loop | str, ...], without: set[str]) -> list[object]:
    """Loops and statements without some of these, and without loops that then are empty."""
    result: list[object] = []
    for node in nest:
        if isinstance(node, str):
            result += [node] if node not in without else []
        elif inside := _skeleton(node.body, without):
            result.append((node.step, inside))
    return result


def _check_places(scop: Scop, added: dict[str, Statement]) -> None:
    """Each pass is alone in its nest, with nothing but passes up to the one that reads it."""
    order = [list(_names(node)) for node in scop.nest]
    made = {s.name for s in added.values()}
    for array, maker in added.items():
        place = order.index([maker.name]) if [maker.name] in order else -1
        readers = {s.name for s in scop.statements if any(a.array == array for a in s.reads)}
        after = place + 1
        while 0 < after < len(order) and order[after][0] in made and order[after][0] not in readers:
            after += 1
        if place < 0 or after >= len(order) or [*readers] != order[after]:
            raise _no_source(f"{array} is not computed right before it is read", maker)
        if any(s.array == array and s is not maker for s in scop.statements):
            raise _no_source(f"{array} is written twice", maker)


def _names(node: Loop | str) -> Iterator[str]:
    if isinstance(node, str):
        yield node
        return
    for child in node.body:
        yield from _names(child)


def _no_source(why: str, statement: Statement | None = None) -> IllegalScheduleError:
    message = f"sums in passes are not the source's: {why}"
    return IllegalScheduleError(message, span=statement.span if statement else None)
