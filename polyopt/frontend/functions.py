"""Math functions, casts and clamps on values, by NumPy's rules for result types.

``log(1 + x)`` and ``exp(x) - 1`` of a small ``x`` lose what rounding takes from ``1 + x``; the
error is put right by a quotient of two numbers with that error (W. Kahan, in HP-15C Advanced
Functions Handbook, 1982).
"""

from __future__ import annotations

from functools import partial, reduce
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.errors import TypeMismatchError, UnsupportedError
from polyopt.frontend.values import (
    Form,
    Number,
    Strong,
    Value,
    Weak,
    binary,
    compare,
    computed,
    either,
    is_weak,
    negative,
    select,
    type_of,
    typed,
    weak_join,
)
from polyopt.ir import build
from polyopt.ir.types import BOOL, ELEMENTS, F32, F64, I64, U16, ScalarType

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Functions of one number that NumPy computes in floats.
FLOAT_FUNCTIONS = (
    "sqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tan", "tanh", "erf", "floor", "ceil",
    "trunc", "rint", "pow", "fmod", "atan2",
)  # fmt: skip
#: to a number of this size 1 adds nothing
_LARGE = 1e30
#: beyond this, ``exp(x) - 1`` loses nothing
_FAR = 0.5
_ROUNDING = {"floor", "ceil", "trunc", "rint"}


def float_call(function: str, args: Sequence[Value], *, weak: bool = False) -> Value:
    """A math function as NumPy types it; as Python's ``math`` does (``f64``) where ``weak``."""
    if function in _ROUNDING and type_of(args[0]).is_integer and not weak:
        return args[0]  # integers round to themselves
    if weak:
        return Weak(build.call(function, *(typed(a, F64) for a in args)))
    types = [float_type(a) for a in args if not is_weak(a)]
    type_ = max(types, key=lambda t: t.bits) if types else F64
    if any(is_weak(a) and type_of(a).is_float for a in args):
        type_ = weak_join(F64, type_)
    exact = function in _ROUNDING or function == "fmod"
    return computed(type_, partial(build.call, function), *args, exact=exact)


def float_type(value: Value) -> ScalarType:
    """The type in which NumPy computes functions of a number. Raises ``TypeMismatchError``."""
    type_ = type_of(value)
    if type_.is_float:
        return type_
    if type_.bits < U16.bits:
        message = f"NumPy computes this function of {type_} in half precision"
        raise TypeMismatchError(message, hint="cast the argument to f32 first")
    return F32 if type_.bits == U16.bits else F64


def log1p(x: Value) -> Value:
    """``log(1 + x)``."""
    raised = binary("add", Number(1.0), x)
    log = float_call("log", [raised])
    less = binary("sub", raised, Number(1.0))
    exact = binary("mul", log, binary("truediv", x, less))
    # of infinity, and of what 1 is nothing to, it is the logarithm itself
    found = select(compare("gt", x, Number(_LARGE)), log, exact)
    return select(compare("eq", raised, Number(1.0)), as_float(x), found)


def expm1(x: Value) -> Value:
    """``exp(x) - 1``."""
    raised = float_call("exp", [x])
    less = binary("sub", raised, Number(1.0))
    exact = binary("truediv", binary("mul", less, x), float_call("log", [raised]))
    # where nothing is left of 1, or x has gone, or there is no logarithm, it is what it seems
    far = either(compare("lt", x, Number(-_FAR)), compare("gt", x, Number(_FAR)))
    return select(compare("eq", raised, Number(1.0)), as_float(x), select(far, less, exact))


def as_float(x: Value) -> Value:
    """A number in the type that NumPy computes functions of it in."""
    return x if type_of(x).is_float else binary("truediv", x, Number(1.0))


def absolute(value: Value) -> Value:
    """``abs(value)``."""
    match value:
        case Number():
            return Number(abs(value.value))
        case Form():
            return binary("max", value, negative(value))
        case _:
            type_ = I64 if type_of(value) == BOOL else type_of(value)
            if type_.kind == "uint":
                return _weak_like(value, Strong(typed(value, type_)))
            return _weak_like(value, computed(type_, partial(build.call, "abs"), value))


def _weak_like(value: Value, found: Strong) -> Value:
    return Weak(found.expr) if is_weak(value) else found


def extreme(op: str, values: Sequence[Value]) -> Value:
    """``min`` or ``max`` of one or more values."""
    return reduce(lambda a, b: binary(op, a, b), values)


def clamp(value: Value, low: Value, high: Value) -> Value:
    """``min(max(value, low), high)``: both bounds included."""
    return binary("min", binary("max", value, low), high)


def sign(value: Value) -> Value:
    """-1, 0 or 1 in the value's type."""
    above = select(compare("gt", value, Number(0)), Number(1), Number(0))
    kind = type_of(value)
    if kind.kind == "uint":
        return convert(kind, above)
    below = select(compare("lt", value, Number(0)), Number(-1), Number(0))
    return convert(kind, binary("add", above, below))


def convert(type_: ScalarType, value: Value) -> Value:
    """The value as a NumPy scalar of the type: of a half it is the f32 that is one."""
    if type_ == BOOL and type_of(value) != BOOL:
        value = compare("ne", value, Number(0))
    if isinstance(value, Number) and isinstance(value.value, int) and type_.is_integer:
        return Strong(typed(value, type_))
    return Strong(build.cast(type_.computed, typed(value, type_)))


def to_int(value: Value) -> Value:
    """Python's ``int(value)``: truncates, and is weak."""
    match value:
        case Number():
            return Number(int(value.value))
        case Form():
            return value
        case _:
            return Weak(typed(value, I64))


def to_float(value: Value) -> Value:
    """Python's ``float(value)``: double precision, and weak."""
    return Number(float(value.value)) if isinstance(value, Number) else Weak(typed(value, F64))


def named_type(name: str) -> ScalarType | None:
    """The type of a short name (``u16``) or a NumPy name (``uint16``)."""
    if name in ELEMENTS:
        return ELEMENTS[name]
    return next((t for t in ELEMENTS.values() if t.numpy_name == name), None)


def constant(value: object) -> Number | Strong:
    """A Python or NumPy number as a value. Raises ``UnsupportedError`` for anything else."""
    if isinstance(value, bool | int | float):
        if isinstance(value, np.floating):  # np.float64 is a float, but not a weak one
            return _numpy_constant(value)
        return Number(value)
    if isinstance(value, np.generic):
        return _numpy_constant(cast("np.generic[Any]", value))
    raise UnsupportedError(
        f"a constant of type {type(value).__name__} is not taken here",
        hint="integers, floats, truth values and NumPy scalars are",
    )


def _numpy_constant(value: np.generic[Any]) -> Strong:
    kind = named_type(value.dtype.name)
    if kind is None:
        raise UnsupportedError(f"NumPy's type {value.dtype.name} is not taken")
    return Strong(build.const(kind.computed, value.item()))
