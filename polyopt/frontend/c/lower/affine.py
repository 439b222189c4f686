"""Quasi-affine forms: C's integer operations on ``{ [i] -> [value] }``, exact or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.ir.expr import Affine, Binary, Call, Cast, Const, Expr, Inside, Select, Unary
from polyopt.ir.types import I32, I64
from polyopt.isl import (
    PwAff,
    Set,
    affine_constant,
    constant_value,
    dim_type,
    floor_quotient,
    floor_remainder,
    integer_val,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.ir.types import ScalarType

    #: Called with the instances at which a value would wrap: the program is taken to have none.
    Assume = Callable[[Set], None]

#: multiples of sizes and iterators, together, that are meant as a place and not as a hash: of
#: others it is not assumed that they stay within their type
MOST_STRIDE = 1 << 20
_MOST_CONSTANT = 1 << 30


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
            if number is None:
                return _by_size(op, left, right, known)
            return _by_constant(op, left, number, known)


def _by_size(op: str, left: PwAff, right: PwAff, known: Set) -> PwAff | None:
    """A quotient or remainder of a wrapped subscript: C truncates, which is the floor from 0 on."""
    if op in {"div", "mod"} and not always_at_least(left, 0, known):
        return None
    if op in {"div", "floordiv"}:
        return floor_quotient(left, right, known)
    return floor_remainder(left, right, known) if op in {"mod", "floormod"} else None


def _by_constant(op: str, left: PwAff, number: int, known: Set) -> PwAff | None:
    if number + (op == "and") > I64.range[1]:  # a mask is a remainder by the next number
        return _by_far(op, left, number, known)
    right = affine_constant(left.get_domain_space(), number)
    match op:
        case "div" | "mod" if number != 0:
            return _truncating(op, left, right, number, known)
        case "floordiv" if number != 0:
            return left.div(right).floor()
        case "floormod" if number > 0:
            return left.mod_val(integer_val(number))
        case "shl" if 0 <= number < 63:
            return left.mul(affine_constant(left.get_domain_space(), 1 << number))
        case "shr" if 0 <= number < 63:
            power = affine_constant(left.get_domain_space(), 1 << number)
            return left.div(power).floor()
        case "and" if _is_mask(number):
            return left.mod_val(integer_val(number + 1))
        case _:
            return None


def _by_far(op: str, left: PwAff, number: int, known: Set) -> PwAff | None:
    """An operation by a number that no form reaches: code computes forms in 64 bits with a sign."""
    if not always_at_least(left, 0, known):
        return None
    if op in {"mod", "floormod"} or (op == "and" and _is_mask(number)):
        return left
    return affine_constant(left.get_domain_space(), 0) if op in {"div", "floordiv"} else None


def _is_mask(number: int) -> bool:
    """Whether it is of the form ``2^k - 1``."""
    return number >= 0 and (number & (number + 1)) == 0


def _truncating(op: str, left: PwAff, right: PwAff, number: int, known: Set) -> PwAff:
    """C's division rounds towards zero: the floor, where nothing is negative."""
    if number > 0 and always_at_least(left, 0, known):
        if op == "div":
            return left.div(right).floor()
        return left.mod_val(integer_val(number))
    return left.tdiv_q(right) if op == "div" else left.tdiv_r(right)


def always_at_least(form: PwAff, bound: int, known: Set) -> bool:
    """Whether the form is never below the bound on ``known``."""
    least = affine_constant(form.get_domain_space(), bound)
    return known.is_subset(form.ge_set(least))


def always_at_most(form: PwAff, bound: int, known: Set) -> bool:
    """Whether the form is never above the bound on ``known``."""
    most = affine_constant(form.get_domain_space(), bound)
    return known.is_subset(form.le_set(most))


def fits(
    form: PwAff,
    type_: ScalarType,
    known: Set,
    assume: Assume | None,
    *,
    converted: bool = False,
) -> bool:
    """Whether the form is the value in the type, or after conversion to it: nothing wraps.

    Signed arithmetic of 32 and more bits is what the form says, since its overflow is undefined in
    C; that of a value ``converted`` is not. Where it depends on sizes whether the others wrap,
    ``assume`` is told the instances that would: without it they have to be known to fit.
    """
    if not type_.is_integer:
        return False
    wide = type_.bits >= I32.bits
    if wide and type_.kind == "int" and not converted:
        return True
    low, high = type_.range[0], min(type_.range[1], I64.range[1])
    below, above = not always_at_least(form, low, known), not always_at_most(form, high, known)
    if not below and not above:
        return True
    if assume is None or not wide:
        return False
    unsigned = type_.kind == "uint"
    moving = form.involves_dims(dim_type.in_, 0, form.dim(dim_type.in_))
    if below and unsigned and moving:
        return False
    if not _is_small(form) and (above or not unsigned):
        return False
    space = form.get_domain_space()
    if below:
        wrong = form.lt_set(affine_constant(space, low))
        assume(wrong if unsigned else known.intersect(wrong))
    if above:
        assume(known.intersect(form.gt_set(affine_constant(space, high))))
    return True


def _is_small(form: PwAff) -> bool:
    """Whether a form's coefficients together are no more, and its constants those of an index."""
    for _, aff in form.get_pieces():
        parts = (
            aff.get_coefficient_val(kind, position)
            for kind in (dim_type.in_, dim_type.param, dim_type.div)
            for position in range(aff.dim(kind))
        )
        total = sum(abs(part.to_python() if part.is_int() else 1) for part in parts)
        constant = aff.get_constant_val().floor().to_python()
        if total > MOST_STRIDE or not -_MOST_CONSTANT <= constant <= _MOST_CONSTANT:
            return False
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
    converted = isinstance(expr, Cast)
    if form is None or not fits(form, expr.type, known, assume, converted=converted):
        return None
    return form


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
            # the lowest bits are the same, however often the others wrap
            wraps = expr.op in {"add", "sub", "mul", "and"}
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
