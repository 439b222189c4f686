"""Values of the Python frontends: NumPy's arithmetic with Python's weak numbers.

Python numbers are *weak*: they take the type of the NumPy value they meet (NEP 50). As long as
they are affine in iterators and sizes they stay integer sets and relations.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from polyopt.errors import NonAffineError, TypeMismatchError
from polyopt.frontend.numbers import (
    Compound,
    Form,
    Number,
    Strong,
    Value,
    Weak,
    Where,
    affine_binary,
)
from polyopt.ir import build
from polyopt.ir.expr import Affine, Const, inside
from polyopt.ir.types import BF16, BOOL, F32, F64, I64, ScalarType, promote_numpy
from polyopt.isl import PwAff, Set, affine_constant, dim_type, lift_form

if TYPE_CHECKING:
    from collections.abc import Callable

    from polyopt.ir.expr import Expr, Load
    from polyopt.isl import Space


_SETS: dict[str, Callable[[PwAff, PwAff], Set]] = {
    "lt": PwAff.lt_set, "le": PwAff.le_set, "gt": PwAff.gt_set, "ge": PwAff.ge_set,
    "eq": PwAff.eq_set, "ne": PwAff.ne_set,
}  # fmt: skip
_PYTHON: dict[str, Callable[[float, float], int | float]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "truediv": lambda a, b: a / b, "floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b,
    "pow": lambda a, b: a**b, "min": min, "max": max,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b, "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}  # fmt: skip
_BITWISE: dict[str, Callable[[int, int], int]] = {
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << b, "shr": lambda a, b: a >> b,
}  # fmt: skip
#: operations that move little where operands do: halves need not be rounded before
_SMOOTH = {"add", "sub", "mul", "truediv"}
_IR_NAME = {"mod": "floormod", "truediv": "div"}
#: Operations as people write them, for messages.
SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "**", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>",
}  # fmt: skip


def loaded(load: Load) -> Strong:
    """What a load is worth: halves are computed with as f32."""
    return Strong(build.cast(load.type.computed, load))


def is_weak(value: Value) -> bool:
    """Whether the value takes the type of what it meets."""
    return not isinstance(value, Strong | Compound)


def type_of(value: Value) -> ScalarType:
    """The type the value has when it meets nothing: ``i64``, ``f64``, ``bool`` for weak ones."""
    match value:
        case Number():
            if isinstance(value.value, bool):
                return BOOL
            return I64 if isinstance(value.value, int) else F64
        case Form():
            return I64
        case Where():
            return BOOL
        case _:
            return value.expr.type


def common_type(one: Value, other: Value) -> ScalarType:
    """The type in which NumPy computes with both."""
    a, b = type_of(one), type_of(other)
    if is_weak(one) == is_weak(other):
        return promote_numpy(a, b)
    weak, strong = (a, b) if is_weak(one) else (b, a)
    return weak_join(weak, strong)


def weak_join(weak: ScalarType, strong: ScalarType) -> ScalarType:
    """The type of a weak ``i64``, ``f64`` or ``bool`` met by a strong type.

    A float of Python's makes f32 of a bfloat16: NumPy's functions have it from ``ml_dtypes`` as a
    type that such a float does not fit.
    """
    if strong == BF16 and weak.is_float:
        return F32
    rank = {"bool": 0, "int": 1, "uint": 1, "float": 2}
    return strong if rank[weak.kind] <= rank[strong.kind] else weak


def typed(value: Value, type_: ScalarType) -> Expr:
    """The value as an expression of the type.

    Raises ``TypeMismatchError`` for a literal that the type cannot hold.
    """
    match value:
        case Number():
            return _literal(value.value, type_)
        case Form():
            if type_.is_integer:
                return build.affine(type_, value.form)
            return build.cast(type_, build.affine(I64, value.form))
        case Where():
            if type_ == BOOL:
                return inside(value.where)
            one, zero = build.const(type_, 1), build.const(type_, 0)
            return build.select(inside(value.where), one, zero)
        case _:
            return build.cast(type_, value.expr)


def _literal(number: float, type_: ScalarType) -> Expr:
    if type_.is_float or type_ == BOOL:
        return build.const(type_, number)
    if isinstance(number, float):
        return build.cast(type_, build.const(F64, number))
    low, high = type_.range
    if not low <= number <= high:
        message = f"{number} does not fit in {type_}, which holds {low} to {high}"
        hint = "cast the other operand to a wider type first"
        raise TypeMismatchError(message, hint=hint)
    return build.const(type_, number)


def single(value: Value, half: ScalarType, *, exact: bool = False) -> Expr:
    """A number as a half, and that as the f32 that is computed with; with ``exact`` rounded."""
    wide = value.unrounded if isinstance(value, Strong) and type_of(value) == half else None
    if wide is not None and not exact:
        return wide
    return build.cast(half.computed, typed(value, half))


def computed(
    type_: ScalarType, compute: Callable[..., Expr], *values: Value, exact: bool = False
) -> Strong:
    """An operation on values in a type; on halves it is one on f32, whose result is rounded where
    it is stored. With ``exact`` its operands are rounded before, as for comparisons."""
    if not type_.is_half:
        return Strong(compute(*(typed(v, type_) for v in values)))
    result = compute(*(single(v, type_, exact=exact) for v in values))
    if result.type != type_.computed:
        return Strong(result)
    return Strong(build.cast(type_, result), result)


def as_expr(value: Value) -> Expr:
    """The value as an expression of its own type."""
    return typed(value, type_of(value))


def strengthened(value: Value) -> Value:
    """The value as a NumPy scalar: what NumPy's functions return. Conditions stay affine."""
    return value if isinstance(value, Strong | Where | Compound) else Strong(as_expr(value))


def _like(value: Value, found: Expr | Strong, other: Value | None = None) -> Value:
    """What was found, weak if all it was computed from is."""
    weak = is_weak(value) and (other is None or is_weak(other))
    if isinstance(found, Strong):
        return Weak(found.expr) if weak else found
    return Weak(found) if weak else Strong(found)


def form_of(value: Value, space: Space) -> PwAff | None:
    """``{ [i] -> [value] }`` over ``space`` where the value is an affine integer."""
    match value:
        case Number() if isinstance(value.value, int):
            return affine_constant(space, int(value.value))
        case Form():
            return value.form
        case _:
            return None


def index_form(value: Value, space: Space) -> PwAff | None:
    """``form_of``, or that of a NumPy integer that is known or was affine before its cast."""
    match value:
        case Strong(expr=Const(value=number)) if value.expr.type.is_integer:
            return affine_constant(space, int(number))
        case Strong(expr=Affine(form=form)):
            return form
        case _:
            return form_of(value, space)


def need_form(value: Value, space: Space, what: str) -> PwAff:
    """``index_form``, or a ``NonAffineError`` that names ``what``."""
    form = index_form(value, space)
    if form is not None:
        return form
    if isinstance(value, Strong):
        message = f"{what} depends on data"
    elif type_of(value).is_float:
        message = f"{what} is not an integer"
    else:
        message = f"{what} is not affine in iterators and sizes"
    hint = "affine: sums of iterators and sizes times constants, with // and % by constants"
    raise NonAffineError(message, hint=hint)


def _pair(one: Value, other: Value) -> tuple[PwAff, PwAff] | None:
    """Both as forms over one space, if both are affine and at least one is not a number."""
    if isinstance(one, Form):
        second = form_of(other, one.form.get_domain_space())
        return None if second is None else (one.form, second)
    if isinstance(other, Form):
        first = form_of(one, other.form.get_domain_space())
        return None if first is None else (first, other.form)
    return None


def binary(op: str, one: Value, other: Value) -> Value:
    """A Python operator, or ``min`` or ``max``. Raises ``TypeMismatchError``."""
    if (parts := _compound(one, other)) is not None:
        return parts.binary(op, one, other)
    if isinstance(one, Number) and isinstance(other, Number):
        return _numbers(op, one.value, other.value)
    if op in {"and", "or", "xor"} and BOOL == type_of(one) == type_of(other):
        return _logic(op, one, other)
    pair = _pair(one, other)
    if pair is not None and (form := affine_binary(op, *pair)) is not None:
        return Form(form)
    if op == "pow":
        return _power(one, other)
    return _typed_binary(op, one, other)


def _compound(one: Value, other: Value) -> Compound | None:
    return next((v for v in (one, other) if isinstance(v, Compound)), None)


def _numbers(op: str, a: float, b: float) -> Number:
    if op in _BITWISE:
        if isinstance(a, float) or isinstance(b, float):
            raise TypeMismatchError(f"{SYMBOLS[op]} is not defined on floats")
        return Number(_BITWISE[op](a, b))
    try:
        return Number(_PYTHON[op](a, b))
    except (ArithmeticError, ValueError) as error:
        raise TypeMismatchError(f"this constant cannot be computed: {error}") from None


def _logic(op: str, one: Value, other: Value) -> Value:
    if op == "and":
        return both(one, other)
    if op == "or":
        return either(one, other)
    return compare("ne", one, other)


def _typed_binary(op: str, one: Value, other: Value) -> Value:
    type_ = common_type(one, other)
    if type_ == BOOL:
        type_ = _bool_arithmetic(op, one, other)
    if op == "truediv" and not type_.is_float:
        type_ = F64
    if type_.is_float and op in _BITWISE:
        raise TypeMismatchError(f"{SYMBOLS[op]} is not defined on {type_}")
    name = {"add": "or", "mul": "and"}.get(op, op) if type_ == BOOL else _IR_NAME.get(op, op)
    exact = op not in _SMOOTH
    return _like(one, computed(type_, partial(build.binary, name), one, other, exact=exact), other)


def _bool_arithmetic(op: str, one: Value, other: Value) -> ScalarType:
    """Python's bools count as integers; NumPy's add as ``or`` and do not subtract."""
    if is_weak(one) and is_weak(other):
        return I64
    if op in {"add", "mul", "min", "max"} or op in _BITWISE:
        return BOOL
    if op == "truediv":
        return F64
    message = f"{SYMBOLS.get(op, op)} is not defined on truth values"
    raise TypeMismatchError(message, hint="cast them to a number first")


def _power(base: Value, exponent: Value) -> Value:
    if type_of(base) == BOOL and not is_weak(base):
        raise TypeMismatchError("** is not defined on truth values", hint="cast them to a number")
    if isinstance(exponent, Number) and exponent.value == 2:
        return binary("mul", base, base)
    type_ = common_type(base, exponent)
    if type_.is_float:
        if isinstance(exponent, Number) and exponent.value == 0.5:
            return _like(base, computed(type_, partial(build.call, "sqrt"), base))
        return _like(base, computed(type_, partial(build.call, "pow"), base, exponent), exponent)
    if not isinstance(exponent, Number) or not 0 <= exponent.value <= 64:
        hint = "use a constant exponent from 0 to 64, or floats"
        raise TypeMismatchError("an integer power needs a constant exponent", hint=hint)
    product: Value = Number(1)
    if isinstance(base, Strong):
        product = Strong(build.const(type_, 1))
    for _ in range(int(exponent.value)):
        product = binary("mul", product, base)
    return product


def compare(op: str, one: Value, other: Value) -> Value:
    """``lt``, ``le``, ``gt``, ``ge``, ``eq`` or ``ne``; a truth value."""
    if (parts := _compound(one, other)) is not None:
        return parts.compare(op, one, other)
    if isinstance(one, Number) and isinstance(other, Number):
        return Number(_PYTHON[op](one.value, other.value))
    pair = _pair(one, other)
    if pair is not None:
        return Where(_SETS[op](*pair))
    type_ = common_type(one, other)
    if (known := _out_of_range(op, one, other, type_)) is not None:
        return Number(known)
    return _like(one, computed(type_, partial(build.compare, op), one, other, exact=True), other)


def _out_of_range(op: str, one: Value, other: Value, type_: ScalarType) -> bool | None:
    """A comparison with a literal that no value of the type reaches is known beforehand."""
    if type_.is_float or type_ == BOOL:
        return None
    low, high = type_.range
    if isinstance(other, Number) and not low <= other.value <= high:
        return bool(_PYTHON[op](low, other.value))
    if isinstance(one, Number) and not low <= one.value <= high:
        return bool(_PYTHON[op](one.value, low))
    return None


def truth(value: Value) -> Value:
    """The value as a condition: a ``Number``, a ``Where``, or a bool expression."""
    match value:
        case Number():
            return Number(bool(value.value))
        case Where():
            return value
        case Compound():
            return compare("ne", value, Number(0))
        case _ if type_of(value) == BOOL:
            return value
        case _:
            return compare("ne", value, Number(0))


def both(one: Value, other: Value) -> Value:
    """``one and other``: what an affine ``one`` rules out is not evaluated."""
    one, other = truth(one), truth(other)
    if isinstance(one, Number):
        return other if one.value else one
    if isinstance(other, Number):
        return one if other.value else other
    if isinstance(one, Where) and isinstance(other, Where):
        return Where(one.where.intersect(other.where))
    if isinstance(one, Where):
        return select(one, other, Number(False))
    if isinstance(other, Where):
        return select(other, one, Number(False))
    return _like(one, build.binary("and", typed(one, BOOL), typed(other, BOOL)), other)


def either(one: Value, other: Value) -> Value:
    """``one or other``: what an affine ``one`` decides is not evaluated."""
    one, other = truth(one), truth(other)
    if isinstance(one, Number):
        return one if one.value else other
    if isinstance(other, Number):
        return other if other.value else one
    if isinstance(one, Where) and isinstance(other, Where):
        return Where(one.where.union(other.where))
    if isinstance(one, Where):
        return select(one, Number(True), other)
    if isinstance(other, Where):
        return select(other, Number(True), one)
    return _like(one, build.binary("or", typed(one, BOOL), typed(other, BOOL)), other)


def negation(value: Value) -> Value:
    """``not value``."""
    value = truth(value)
    match value:
        case Number():
            return Number(not value.value)
        case Where():
            return Where(value.where.complement())
        case _:
            return _like(value, build.invert(typed(value, BOOL)))


def negative(value: Value) -> Value:
    """``-value``."""
    match value:
        case Number():
            return Number(-value.value)
        case Form():
            return Form(value.form.neg())
        case Compound():
            return value.mapped(negative)
        case _ if type_of(value) == BOOL and not is_weak(value):
            raise TypeMismatchError("- is not defined on truth values", hint="use not")
        case _:
            type_ = I64 if type_of(value) == BOOL else type_of(value)
            return _like(value, computed(type_, build.negate, value))


def complement(value: Value) -> Value:
    """``~value``: bitwise on integers, ``not`` on truth values."""
    if type_of(value) == BOOL:
        return negation(value)
    if type_of(value).is_float:
        raise TypeMismatchError(f"~ is not defined on {type_of(value)}")
    if isinstance(value, Number):
        return Number(~int(value.value))
    if isinstance(value, Form):
        return binary("sub", Form(value.form.neg()), Number(1))
    return _like(value, build.invert(as_expr(value)))


def select(cond: Value, then: Value, other: Value) -> Value:
    """``then if cond else other``, both in their common type."""
    cond = truth(cond)
    if isinstance(cond, Number):
        return then if cond.value else other
    if (parts := _compound(then, other)) is not None:
        return parts.select(cond, then, other)
    if isinstance(cond, Where) and (affine := _affine_select(cond.where, then, other)) is not None:
        return affine
    type_ = common_type(then, other)
    test = typed(cond, BOOL)
    return _like(then, build.select(test, typed(then, type_), typed(other, type_)), other)


def _affine_select(cond: Set, then: Value, other: Value) -> Value | None:
    if BOOL == type_of(then) == type_of(other):
        first, second = (_as_set(v, cond) for v in (then, other))
        if first is None or second is None:
            return None
        return Where(cond.intersect(first).union(second.subtract(cond)))
    space = cond.get_space()
    first, second = form_of(then, space), form_of(other, space)
    if first is None or second is None:
        return None
    return Form(first.intersect_domain(cond).union_add(second.subtract_domain(cond)))


def _as_set(value: Value, like: Set) -> Set | None:
    if isinstance(value, Where):
        return value.where
    if isinstance(value, Number):
        space = like.get_space()
        return Set.universe(space) if value.value else Set.empty(space)
    return None


def lift(value: Value, space: Space) -> Value:
    """A value from outer loops seen from the loops of ``space``, which has those loops first.

    Raises nothing; run-time expressions hold no affine forms of their own to lift.
    """
    match value:
        case Form():
            return Form(lift_form(value.form, space))
        case Where():
            more = space.dim(dim_type.set) - value.where.dim(dim_type.set)
            return Where(value.where.add_dims(dim_type.set, more)) if more else value
        case _:
            return value
