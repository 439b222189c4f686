"""NumPy's functions of single elements that differ from, or add to, those of loop functions.

NumPy's minima and maxima hand on what is no number; Python's keep their first argument.
"""

from __future__ import annotations

import math
from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np

from polyopt.errors import TypeMismatchError, UnsupportedError
from polyopt.frontend.arrays.functions.composed import COMPOSED
from polyopt.frontend.arrays.functions.integers import operation
from polyopt.frontend.arrays.grid import strong
from polyopt.frontend.complex_values import Complex, as_element, call_complex, imaginary_part
from polyopt.frontend.functions import absolute, float_call, sign
from polyopt.frontend.loops.calls import call_known, is_known
from polyopt.frontend.values import (
    Number,
    Strong,
    Value,
    binary,
    both,
    common_type,
    compare,
    either,
    negation,
    select,
    type_of,
    typed,
)
from polyopt.ir.types import BF16, BOOL, F32, F64

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def elementary(function: object) -> Callable[..., Value] | None:
    """What a function computes of numbers; nothing where it is not taken.

    What comes back raises ``UnsupportedError`` for a wrong number of arguments.
    """
    try:
        own = _OWN.get(function)
    except TypeError:
        return None
    if own is None and not is_known(function):
        return None

    def call(*args: Value) -> Value:
        if any(isinstance(a, Complex) for a in args):
            return call_complex(function, args)
        if own is None:
            return call_known(function, args)
        arity, compute = own
        return compute(*_counted(function, args, arity))

    return call


def _counted(function: object, args: Sequence[Value], arity: int) -> Sequence[Value]:
    if arity < 0 and len(args) >= -arity:
        return args
    if len(args) != arity:
        name = getattr(function, "__name__", str(function))
        raise UnsupportedError(f"{name} takes {abs(arity)} argument(s) here, not {len(args)}")
    return args


def _is_nan(x: Value) -> Value:
    if not type_of(x).is_float:
        return Number(value=False)
    return compare("ne", x, x)


def maximum(a: Value, b: Value) -> Value:
    """``np.maximum``: what is no number in either."""
    return _extreme("max", "gt", a, b)


def minimum(a: Value, b: Value) -> Value:
    """``np.minimum``: what is no number in either."""
    return _extreme("min", "lt", a, b)


def _extreme(op: str, better: str, a: Value, b: Value) -> Value:
    if not common_type(a, b).is_float:
        return strong(binary(op, a, b))
    return strong(select(either(compare(better, a, b), _is_nan(a)), a, b))


def _fmax(a: Value, b: Value) -> Value:
    return strong(select(either(compare("gt", a, b), _is_nan(b)), a, b))


def _fmin(a: Value, b: Value) -> Value:
    return strong(select(either(compare("lt", a, b), _is_nan(b)), a, b))


def clip(x: Value, low: Value, high: Value) -> Value:
    """``np.clip`` with both bounds."""
    return clipped(x, minimum(maximum(x, low), high))


def clipped(x: Value, found: Value) -> Value:
    """What ``np.clip`` of a number returns: NumPy has it in single precision for bfloat16."""
    return as_element(F32, found) if type_of(x) == type_of(found) == BF16 else found


def _python_extreme(op: str, better: str) -> Callable[..., Value]:
    def call(*values: Value) -> Value:
        def one(a: Value, b: Value) -> Value:
            known = isinstance(a, Number) and isinstance(b, Number)
            if common_type(a, b).is_float and not known:
                return select(compare(better, b, a), b, a)
            return binary(op, a, b)

        return reduce(one, values)

    return call


def _sign(x: Value) -> Value:
    _refuse_truth("np.sign", x)
    found = as_element(type_of(x), sign(x))
    return strong(select(_is_nan(x), x, found) if type_of(x).is_float else found)


def _is_inf(x: Value) -> Value:
    if not type_of(x).is_float:
        return Number(value=False)
    return either(compare("eq", x, Number(math.inf)), compare("eq", x, Number(-math.inf)))


def _is_finite(x: Value) -> Value:
    return negation(either(_is_nan(x), _is_inf(x)))


def rounded(x: Value) -> Value:
    """``np.round`` to whole numbers."""
    return float_call("rint", [x])


def _direction(x: Value) -> Value:
    return float_call("atan2", [imaginary_part(strong(x)), x])


def _xor(a: Value, b: Value) -> Value:
    return either(both(a, negation(b)), both(negation(a), b))


def _refuse_truth(name: str, x: Value) -> None:
    if type_of(x) == BOOL:
        raise TypeMismatchError(f"{name} is not defined on truth values", hint="cast them first")


def _same(x: Value) -> Value:
    _refuse_truth("np.positive", x)
    return x


def _absolute(x: Value) -> Value:
    return strong(x) if type_of(x) == BOOL else strong(absolute(x))


def _python_absolute(x: Value) -> Value:
    return x if type_of(x) == BOOL and isinstance(x, Strong) else absolute(x)


def where(test: Value, a: Value, b: Value) -> Value:
    """``np.where``: a NumPy number of the common type, whatever the test."""
    if isinstance(a, Complex) or isinstance(b, Complex):
        return select(test, a, b)
    kind = common_type(a, b)
    if BF16 in {type_of(a), type_of(b)} and F64 in {type_of(a), type_of(b)}:
        kind = F64  # also with a float of Python's: NumPy's promotion of types that are not its own
    return strong(select(test, Strong(typed(a, kind)), Strong(typed(b, kind))))


#: each function with its number of arguments (negative: at least so many)
_OWN: dict[object, tuple[int, Callable[..., Value]]] = {
    **COMPOSED,
    np.maximum: (2, maximum),
    np.minimum: (2, minimum),
    np.fmax: (2, _fmax),
    np.fmin: (2, _fmin),
    np.where: (3, where),
    np.abs: (1, _absolute),
    abs: (1, _python_absolute),
    np.clip: (3, clip),
    np.sign: (1, _sign),
    np.floor_divide: (2, partial(operation, "floordiv")),
    np.mod: (2, partial(operation, "mod")),
    np.left_shift: (2, partial(operation, "shl")),
    np.right_shift: (2, partial(operation, "shr")),
    np.isnan: (1, _is_nan),
    np.isinf: (1, _is_inf),
    np.isfinite: (1, _is_finite),
    np.round: (1, rounded),
    np.positive: (1, _same),
    np.conj: (1, strong),
    np.angle: (1, _direction),
    np.logical_xor: (2, _xor),
    max: (-2, _python_extreme("max", "gt")),
    min: (-2, _python_extreme("min", "lt")),
}
