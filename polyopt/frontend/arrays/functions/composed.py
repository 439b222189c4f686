"""NumPy's functions of single elements that are made of others."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from polyopt.errors import TypeMismatchError
from polyopt.frontend.arrays.grid import strong
from polyopt.frontend.complex_values import as_element
from polyopt.frontend.functions import absolute, as_float, expm1, float_call, float_type, log1p
from polyopt.frontend.values import (
    Number,
    Value,
    binary,
    common_type,
    compare,
    either,
    is_weak,
    negative,
    select,
    type_of,
)
from polyopt.ir.types import BF16, F32

if TYPE_CHECKING:
    from collections.abc import Callable

#: from here on ``exp(x)`` is taken as a square: half of it is finite where it is not
_SQUARED = {32: 88.0, 64: 709.0}
#: what ``np.sinc`` takes for zero
_NEARLY_ZERO = 1e-20


def _log1p(x: Value) -> Value:
    return strong(log1p(x))


def _expm1(x: Value) -> Value:
    return strong(expm1(x))


def _sinh(x: Value) -> Value:
    size = strong(absolute(x))
    less = expm1(size)
    grown = binary("add", less, binary("truediv", less, binary("add", less, Number(1.0))))
    near = binary("mul", Number(0.5), grown)
    found = _unless_large(size, near)
    return strong(select(compare("lt", x, Number(0.0)), negative(found), _with_zero(x, found)))


def _cosh(x: Value) -> Value:
    size = strong(absolute(x))
    power = float_call("exp", [size])
    half = Number(0.5)
    near = binary("add", binary("mul", half, power), binary("truediv", half, power))
    return strong(_unless_large(size, near))


def _unless_large(size: Value, near: Value) -> Value:
    """Half of ``exp(size)``, as a product of two roots, where it alone is not finite."""
    root = float_call("exp", [binary("mul", Number(0.5), size)])
    large = binary("mul", binary("mul", Number(0.5), root), root)
    limit = Number(_SQUARED[type_of(near).computed.bits])
    return select(compare("gt", size, limit), large, near)


def _with_zero(x: Value, found: Value) -> Value:
    """What is odd keeps the sign of a zero."""
    return select(compare("eq", x, Number(0.0)), as_float(x), found)


def _hypot(a: Value, b: Value) -> Value:
    kind = type_of(as_float(binary("add", a, b)))
    a, b = (strong(absolute(as_element(kind, side))) for side in (a, b))
    most = select(either(compare("lt", a, b), compare("ne", b, b)), b, a)
    least = select(compare("lt", a, b), a, b)
    share = binary("truediv", least, most)
    root = float_call("sqrt", [binary("add", Number(1.0), binary("mul", share, share))])
    found = select(compare("eq", most, Number(0.0)), most, binary("mul", most, root))
    infinite = either(*(compare("eq", side, Number(math.inf)) for side in (a, b)))
    return strong(select(infinite, Number(math.inf), found))


def _logaddexp(a: Value, b: Value) -> Value:
    apart = strong(absolute(binary("sub", a, b)))
    most = select(compare("lt", a, b), b, a)
    sum_ = binary("add", most, log1p(float_call("exp", [negative(apart)])))
    alike = binary("add", a, Number(math.log(2)))
    return strong(select(compare("eq", a, b), alike, sum_))


def _arctan(x: Value) -> Value:
    return float_call("atan2", [x, Number(1.0)])


def _arcsin(x: Value) -> Value:
    return float_call("atan2", [x, _leg(x)])


def _arccos(x: Value) -> Value:
    return float_call("atan2", [_leg(x), x])


def _leg(x: Value) -> Value:
    """``sqrt(1 - x * x)``, right where ``x`` is nearly 1."""
    one = Number(1.0)
    return float_call("sqrt", [binary("mul", binary("sub", one, x), binary("add", one, x))])


def _heaviside(x: Value, middle: Value) -> Value:
    above = select(compare("eq", x, Number(0.0)), as_float(middle), Number(1.0))
    found = select(compare("lt", x, Number(0.0)), Number(0.0), above)
    return strong(select(compare("ne", x, x), as_float(x), found))


def _nan_to_num(x: Value) -> Value:
    kind = type_of(x)
    if not kind.is_float or kind == BF16:  # NumPy does not know that ml_dtypes' numbers are floats
        return strong(x)
    most = float(np.finfo(kind.dtype).max)
    above = select(compare("gt", x, Number(most)), Number(most), x)
    found = select(compare("lt", x, Number(-most)), Number(-most), above)
    return strong(select(compare("ne", x, x), Number(0.0), found))


def _sinc(x: Value) -> Value:
    nearly = select(compare("eq", x, Number(0.0)), Number(_NEARLY_ZERO), as_float(x))
    angle = binary("mul", Number(math.pi), nearly)
    return strong(binary("truediv", float_call("sin", [angle]), angle))


def _reciprocal(x: Value) -> Value:
    if not type_of(x).is_float:
        message = "np.reciprocal of integers divides them as integers"
        raise TypeMismatchError(message, hint="write 1 / x, or cast it to a float first")
    return strong(binary("truediv", Number(1.0), x))


def _scaled(factor: float, x: Value) -> Value:
    return strong(binary("mul", x, Number(factor)))


def _in_floats(compute: Callable[..., Value], *args: Value) -> Value:
    """A function of floats, which integers are taken as."""
    if not any(type_of(x).is_float for x in args):
        strong_ones = [x for x in args if not is_weak(x)]
        kind = max((float_type(x) for x in strong_ones or args), key=lambda kind: kind.bits)
        args = tuple(as_element(kind, x) for x in args)
    return _in_singles(compute, *args)


def _in_singles(compute: Callable[..., Value], *args: Value) -> Value:
    """A function that computes with floats of Python's, which make singles of bfloat16."""
    kind = type_of(args[0]) if len(args) == 1 else common_type(*args)
    if kind != BF16:
        return compute(*args)
    return as_element(kind, compute(*(as_element(F32, x) for x in args)))


#: each function with its number of arguments
_COMPOSED: dict[object, tuple[int, Callable[..., Value]]] = {
    np.log1p: (1, _log1p),
    np.expm1: (1, _expm1),
    np.sinh: (1, _sinh),
    np.cosh: (1, _cosh),
    np.arctan: (1, _arctan),
    np.arcsin: (1, _arcsin),
    np.arccos: (1, _arccos),
    np.hypot: (2, _hypot),
    np.logaddexp: (2, _logaddexp),
    np.heaviside: (2, _heaviside),
}
#: the same, and those that NumPy, too, computes in singles where numbers are bfloat16
COMPOSED: dict[object, tuple[int, Callable[..., Value]]] = {
    **{name: (count, partial(_in_floats, own)) for name, (count, own) in _COMPOSED.items()},
    np.reciprocal: (1, partial(_in_singles, _reciprocal)),
    np.nan_to_num: (1, _nan_to_num),
    np.sinc: (1, _sinc),
    **dict.fromkeys((np.radians, np.deg2rad), (1, partial(_scaled, math.pi / 180))),
    **dict.fromkeys((np.degrees, np.rad2deg), (1, partial(_scaled, 180 / math.pi))),
}
