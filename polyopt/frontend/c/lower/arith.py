"""Operations on lowered expressions: C's conversions, and affine values kept affine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.frontend.c.lower.affine import affine_form, always_at_least, combine, fits
from polyopt.ir import build
from polyopt.ir.expr import Affine, Binary, Compare, Const, Expr, Inside, inside, same_expr
from polyopt.ir.types import BOOL, I32, I64, ScalarType, promote_c
from polyopt.isl import Set, constant_value

if TYPE_CHECKING:
    from polyopt.isl import PwAff


def cast(type_: ScalarType, expr: Expr, known: Set) -> Expr:
    """Conversion to a type; an affine value stays affine where the conversion keeps it."""
    if expr.type == type_ or not type_.is_integer:
        return build.cast(type_, expr)
    if isinstance(expr, Inside):
        return build.affine(type_, expr.where.indicator_function())
    if isinstance(expr, Affine) and type_.bits >= I32.bits:
        converted = not _holds(type_, expr.type)
        if not converted or fits(expr.form, type_, known, None, converted=True):
            return build.affine(type_, expr.form)
    return build.cast(type_, expr)


def _holds(type_: ScalarType, other: ScalarType) -> bool:
    """Whether a type has all values of another one."""
    return type_.range[0] <= other.range[0] and other.range[1] <= type_.range[1]


def operate(op: str, left: Expr, right: Expr, known: Set) -> Expr:
    """An arithmetic operation with C's promotions; affine where both operands are."""
    type_ = promote_c(left.type, right.type)
    if op in {"shl", "shr"}:
        type_ = promote_c(left.type, left.type)
    left, right = cast(type_, left, known), cast(type_, right, known)
    if type_.is_integer and _plain(left) and _plain(right):
        form = _affine_result(op, left, right, known)
        if form is not None and fits(form, type_, known, None):
            return build.affine(type_, form)
    return build.binary(op, left, right)


def _plain(expr: Expr) -> bool:
    return isinstance(expr, (Affine, Const))


def _affine_result(op: str, left: Expr, right: Expr, known: Set) -> PwAff | None:
    if isinstance(left, Const) and isinstance(right, Const):
        return None
    one, other = affine_form(left, known), affine_form(right, known)
    if one is None or other is None:
        return None
    return combine(op, one, other, known)


def negate(operand: Expr, known: Set) -> Expr:
    """Arithmetic negation, affine where the operand is."""
    if isinstance(operand, Affine) and fits(operand.form.neg(), operand.type, known, None):
        return build.affine(operand.type, operand.form.neg())
    return build.negate(operand)


def choose(cond: Expr, then: Expr, other: Expr, known: Set) -> Expr:
    """``cond ? then : other``; on integers ``a < b ? a : b`` is the minimum, and so on.

    ``a < low ? low : min(a, high)`` is the clamp that it looks like where ``low <= high``.
    Floating operands keep the comparison: it says what happens to NaN.
    """
    if isinstance(cond, Compare) and then.type.is_integer and cond.op in {"lt", "le"}:
        less, more = cond.left, cond.right
        if _same_value(less, then) and _same_value(more, other):
            return build.binary("min", then, other)
        if _same_value(less, other) and _same_value(more, then):
            return build.binary("max", other, then)
        if _clamps("min", less, other, more, then, known):
            return build.binary("max", other, then)
        if _clamps("max", more, other, less, then, known):
            return build.binary("min", other, then)
    return build.select(cond, then, other)


def _same_value(compared: Expr, chosen: Expr) -> bool:
    """Whether they are equal; integers may be compared before they are widened."""
    if compared.type != chosen.type and compared.type.is_integer:
        if isinstance(compared, Const) and isinstance(chosen, Const):
            return compared.value == chosen.value
        return build.is_widened(chosen) and _same_value(compared, chosen.operand)
    return same_expr(compared, chosen)


def _clamps(op: str, value: Expr, inner: Expr, limit: Expr, then: Expr, known: Set) -> bool:
    """Whether ``inner`` is ``value`` limited on the other side, and the limits are in order."""
    if not isinstance(inner, Binary) or inner.op != op or not _same_value(limit, then):
        return False
    sides = [side for side in inner.children if not _same_value(side, value)]
    if len(sides) != 1:
        return False
    near, far = affine_form(limit, known), affine_form(sides[0], known)
    if near is None or far is None:
        return False
    room = far.sub(near) if op == "min" else near.sub(far)
    return always_at_least(room, 0, known)


def both(left: Expr, right: Expr) -> Expr:
    """``left && right``: the right side is evaluated only where the left one holds."""
    match left, right:
        case (Inside(), Inside()):
            return inside(left.where.intersect(right.where))
        case (Const(), _):
            return right if left.value else left
        case (_, Const()):
            return left if right.value else right
        case _:
            return build.select(left, right, build.const(BOOL, 0))


def either(left: Expr, right: Expr) -> Expr:
    """``left || right``: the right side is evaluated only where the left one does not hold."""
    match left, right:
        case (Inside(), Inside()):
            return inside(left.where.union(right.where))
        case (Const(), _):
            return left if left.value else right
        case (_, Const()):
            return right if right.value else left
        case _:
            return build.select(left, build.const(BOOL, 1), right)


def opposite(cond: Expr) -> Expr:
    """``!cond``."""
    match cond:
        case Inside():
            return inside(cond.where.complement())
        case Const():
            return build.const(BOOL, not cond.value)
        case _:
            return build.invert(cond)


def compare_numbers(op: str, left: float, right: float) -> bool:
    """A comparison of two constants."""
    table = {
        "lt": left < right, "le": left <= right, "gt": left > right, "ge": left >= right,
        "eq": left == right, "ne": left != right,
    }  # fmt: skip
    return table[op]


def compare_forms(op: str, left: PwAff, right: PwAff) -> Set:
    """``{ [i] : left(i) op right(i) }``.

    A number that 64 bits with a sign do not hold is above all that other forms are: code computes
    them in such bits, and it is in no bound of a loop.
    """
    far = [(constant_value(form) or 0) > I64.range[1] for form in (left, right)]
    if far[0] != far[1]:
        space = left.get_domain_space()
        holds = compare_numbers(op, far[0], far[1])
        return Set.universe(space) if holds else Set.empty(space)
    operations = {
        "lt": left.lt_set, "le": left.le_set, "gt": left.gt_set, "ge": left.ge_set,
        "eq": left.eq_set, "ne": left.ne_set,
    }  # fmt: skip
    return operations[op](right)
