"""Quasi-affine forms: C's integer operations on ``{ [i] -> [value] }``, exact or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.ir.expr import Affine, Binary, Call, Cast, Const, Expr, Inside, Select, Unary
from polyopt.isl import PwAff, Set, Val, affine_constant, constant_value, context, dim_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.ir.types import ScalarType

    #: Called with the condition on parameters alone under which unsigned arithmetic does not wrap.
    Assume = Callable[[Set], None]


def combine(op: str, left: PwAff, right: PwAff, known: Set) -> PwAff | None:
    """The form of ``left op right`` on ``known``, or ``None`` where it is not affine."""
    match op:
        case "add":
            return left.add(right)
        case "sub":
            return left.sub(right)
        case "min":
            return left.min(right)
        case "max":
            return left.max(right)
        case "mul":
            both = constant_value(left), constant_value(right)
            return left.mul(right) if both != (None, None) else None
        case _:
            number = constant_value(right)
            return None if number is None else _by_constant(op, left, number, known)


def _by_constant(op: str, left: PwAff, number: int, known: Set) -> PwAff | None:
    right = affine_constant(left.get_domain_space(), number)
    match op:
        case "div" | "mod" if number != 0:
            return _truncating(op, left, right, number, known)
        case "floordiv" if number != 0:
            return left.div(right).floor()
        case "floormod" if number > 0:
            return left.mod_val(Val.int_from_si(context(), number))
        case "shl" if 0 <= number < 63:
            return left.mul(affine_constant(left.get_domain_space(), 1 << number))
        case "shr" if 0 <= number < 63:
            power = affine_constant(left.get_domain_space(), 1 << number)
            return left.div(power).floor()
        case "and" if number >= 0 and (number & (number + 1)) == 0:
            return left.mod_val(Val.int_from_si(context(), number + 1))
        case _:
            return None


def _truncating(op: str, left: PwAff, right: PwAff, number: int, known: Set) -> PwAff:
    """C's division rounds towards zero: the floor, where nothing is negative."""
    if number > 0 and always_at_least(left, 0, known):
        if op == "div":
            return left.div(right).floor()
        return left.mod_val(Val.int_from_si(context(), number))
    return left.tdiv_q(right) if op == "div" else left.tdiv_r(right)


def always_at_least(form: PwAff, bound: int, known: Set) -> bool:
    """Whether the form is never below the bound on ``known``."""
    least = affine_constant(form.get_domain_space(), bound)
    return known.is_subset(form.ge_set(least))


def always_at_most(form: PwAff, bound: int, known: Set) -> bool:
    """Whether the form is never above the bound on ``known``."""
    most = affine_constant(form.get_domain_space(), bound)
    return known.is_subset(form.le_set(most))


def fits(form: PwAff, type_: ScalarType, known: Set, assume: Assume | None) -> bool:
    """Whether the form is the value after conversion to the type.

    Signed types of 32 and more bits are taken to hold every index (overflow is undefined in C).
    Unsigned ones wrap below zero: that has to be impossible, or to depend on sizes alone, in
    which case ``assume`` is told.
    """
    if not type_.is_integer:
        return False
    if type_.bits >= 32 and type_.kind == "int":
        return True
    low, high = type_.range
    if type_.bits < 32 and not always_at_most(form, high, known):
        return False
    if always_at_least(form, low, known):
        return True
    if assume is None or low < 0 or form.involves_dims(dim_type.in_, 0, form.dim(dim_type.in_)):
        return False
    assume(form.ge_set(affine_constant(form.get_domain_space(), 0)).params())
    return True


def affine_form(expr: Expr, known: Set, assume: Assume | None = None) -> PwAff | None:
    """The quasi-affine form of an integer expression on ``known``, or ``None``."""
    match expr:
        case Const() if not expr.type.is_float:
            return affine_constant(known.get_space(), int(expr.value))
        case Affine():
            return expr.form
        case Inside():
            return expr.where.indicator_function()
        case Select() if isinstance(expr.cond, Inside):
            return _choice(expr, expr.cond.where, known, assume)
        case _:
            form = _congruent(expr, known, assume)
    return form if form is not None and fits(form, expr.type, known, assume) else None


def _congruent(expr: Expr, known: Set, assume: Assume | None) -> PwAff | None:
    """A form that is the expression's value but for wrapping, or ``None``.

    Unsigned sums and products may wrap on the way (``y + (size_t)-1``), as long as the whole does
    not: only that has to fit its type.
    """
    match expr:
        case Cast() if not expr.operand.type.is_float:
            return affine_form(expr.operand, known, assume)
        case Unary(op="neg") if expr.type.is_integer:
            form = _part(expr.operand, expr.type, known, assume)
            return None if form is None else form.neg()
        case Call(function="abs", args=(operand,)) if expr.type.is_integer:
            form = affine_form(operand, known, assume)
            return None if form is None else form.max(form.neg())
        case Binary() if expr.type.is_integer:
            wraps = expr.op in {"add", "sub", "mul"}
            part = _part if wraps else _exact
            left = part(expr.left, expr.type, known, assume)
            right = part(expr.right, expr.type, known, assume)
            if left is None or right is None:
                return None
            return combine(expr.op, left, right, known)
        case _:
            return None


def _part(expr: Expr, type_: ScalarType, known: Set, assume: Assume | None) -> PwAff | None:
    if type_.kind == "uint" and type_.bits >= 32 and isinstance(expr, (Cast, Unary, Binary)):
        return _congruent(expr, known, assume)
    return affine_form(expr, known, assume)


def _exact(expr: Expr, type_: ScalarType, known: Set, assume: Assume | None) -> PwAff | None:
    del type_
    return affine_form(expr, known, assume)


def _choice(expr: Select, where: Set, known: Set, assume: Assume | None) -> PwAff | None:
    then = affine_form(expr.then, known.intersect(where), assume)
    other = affine_form(expr.other, known.subtract(where), assume)
    if then is None or other is None:
        return None
    return then.intersect_domain(where).union_add(other.subtract_domain(where)).coalesce()


def deepen(expr: Expr, levels: int) -> Expr:
    """An expression over outer iterators, seen from ``levels`` more loops inside."""
    from polyopt.ir.expr import rewrite

    def change(node: Expr) -> Expr:
        match node:
            case Affine():
                return Affine(node.type, node.form.add_dims(dim_type.in_, levels))
            case Inside():
                return Inside(node.type, node.where.add_dims(dim_type.set, levels))
            case _:
                return node

    return rewrite(expr, change) if levels else expr
