"""The functions that loop functions may call: Python's, ``math``'s and NumPy's."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from polyopt.errors import UnsupportedError
from polyopt.frontend.functions import (
    absolute,
    clamp,
    convert,
    expm1,
    extreme,
    float_call,
    log1p,
    sign,
    to_float,
    to_int,
)
from polyopt.frontend.values import (
    Value,
    binary,
    both,
    compare,
    either,
    negation,
    negative,
    select,
    strengthened,
    truth,
    type_of,
)
from polyopt.ir.types import ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Function = tuple[int, "Callable[..., Value]"]


def _numpy(name: str, function: str) -> Function:
    def call(*args: Value) -> Value:
        return float_call(name, args)

    return (2 if function in {"power", "fmod", "arctan2"} else 1), call


def _math(name: str, arity: int) -> Function:
    def call(*args: Value) -> Value:
        return float_call(name, args, weak=True)

    return arity, call


def _math_int(name: str) -> Function:
    def call(x: Value) -> Value:
        return to_int(float_call(name, [x], weak=True))

    return 1, call


def _of_double(function: Callable[[Value], Value]) -> Function:
    def call(x: Value) -> Value:
        return to_float(function(to_float(x)))

    return 1, call


def _round(x: Value) -> Value:
    """Python's ``round``: to the nearest integer, halves to the even one."""
    return to_int(x if type_of(x).is_integer else float_call("rint", [x], weak=True))


def _square(x: Value) -> Value:
    return binary("mul", x, x)


def _fabs(x: Value) -> Value:
    return absolute(to_float(x))


#: NumPy's names of our functions.
_FLOAT = {
    "sqrt": "sqrt", "exp": "exp", "exp2": "exp2", "log": "log", "log2": "log2", "sin": "sin",
    "cos": "cos", "tan": "tan", "tanh": "tanh", "floor": "floor", "ceil": "ceil",
    "trunc": "trunc", "rint": "rint", "fmod": "fmod", "arctan2": "atan2",
}  # fmt: skip
_OPERATIONS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv",
    "true_divide": "truediv", "floor_divide": "floordiv", "mod": "mod", "remainder": "mod",
    "power": "pow", "minimum": "min", "maximum": "max", "bitwise_and": "and",
    "bitwise_or": "or", "bitwise_xor": "xor", "left_shift": "shl", "right_shift": "shr",
}  # fmt: skip
_COMPARISONS = {
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq",
    "not_equal": "ne",
}  # fmt: skip


def _table() -> dict[object, Function]:
    """Each callable with its number of arguments and what it computes on values."""
    table: dict[object, Function] = {
        abs: (1, absolute),
        int: (1, to_int),
        float: (1, to_float),
        bool: (1, truth),
        round: (1, _round),
        pow: (2, partial(binary, "pow")),
        np.abs: (1, absolute),
        np.fabs: (1, absolute),
        np.square: (1, _square),
        np.negative: (1, negative),
        np.sign: (1, sign),
        np.log1p: (1, log1p),
        np.expm1: (1, expm1),
        math.log1p: _of_double(log1p),
        math.expm1: _of_double(expm1),
        np.where: (3, select),
        np.clip: (3, clamp),
        np.logical_and: (2, both),
        np.logical_or: (2, either),
        np.logical_not: (1, negation),
        math.fabs: (1, _fabs),
    }
    for name, function in _FLOAT.items():
        table[getattr(np, name)] = _numpy(function, name)
    for name, op in _OPERATIONS.items():
        table[getattr(np, name)] = (2, partial(binary, op))
    for name, op in _COMPARISONS.items():
        table[getattr(np, name)] = (2, partial(compare, op))
    for name in ("sqrt", "exp", "exp2", "log", "log2", "sin", "cos", "tan", "tanh", "erf"):
        table[getattr(math, name)] = _math(name, 1)
    for name in ("pow", "fmod", "atan2"):
        table[getattr(math, name)] = _math(name, 2)
    for name in ("floor", "ceil", "trunc"):
        table[getattr(math, name)] = _math_int(name)
    for kind in (k for k in ELEMENTS.values() if hasattr(np, k.numpy_name)):
        table[getattr(np, kind.numpy_name)] = (1, partial(convert, kind))
    return table


_CALLS = _table()
#: What returns Python's numbers, which stay weak; the others return NumPy's.
_PYTHON = {abs, int, float, bool, pow, round, *(f for f in vars(math).values() if callable(f))}


def is_known(function: object) -> bool:
    """Whether ``call_known`` takes the function."""
    if function is min or function is max:
        return True
    try:
        return function in _CALLS
    except TypeError:
        return False


def call_known(function: object, args: Sequence[Value]) -> Value:
    """The value of a call. Raises ``UnsupportedError`` for a wrong number of arguments."""
    name = getattr(function, "__name__", str(function))
    if function is min or function is max:
        if len(args) < 2:
            raise UnsupportedError(f"{name} needs two or more numbers here")
        return extreme(name, args)
    arity, compute = _CALLS[function]
    if len(args) != arity:
        raise UnsupportedError(f"{name} takes {arity} argument(s) here, not {len(args)}")
    result = compute(*args)
    return result if function in _PYTHON else strengthened(result)
