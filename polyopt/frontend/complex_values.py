"""Complex numbers as pairs of real values, for functions over arrays.

A number that is real stays a single value: products and quotients with one are of its parts, where
NumPy, which makes it complex first, has NaN for infinities.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polyopt.errors import UnsupportedError
from polyopt.frontend.functions import absolute, constant, convert, float_call, named_type
from polyopt.frontend.values import (
    SYMBOLS,
    Compound,
    Number,
    Strong,
    Value,
    both,
    compare,
    either,
    is_weak,
    negative,
    select,
    type_of,
    typed,
)
from polyopt.frontend.values import binary as real
from polyopt.ir.types import C64, C128, F32, F64, ScalarType, promote_numpy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: powers that are products; others NumPy computes by logarithms
_POWERS = (2, 3)


@dataclass(frozen=True, eq=False)
class Complex(Compound):
    """``re + im * 1j``; one of Python's where both parts are weak."""

    re: Value
    im: Value

    @property
    def kind(self) -> ScalarType:
        """``c64`` or ``c128``."""
        return C64 if _part_type([self.re, self.im]) == F32 else C128

    @property
    def is_python(self) -> bool:
        """Whether it takes the precision of what it meets."""
        return is_weak(self.re) and is_weak(self.im)

    def binary(self, op: str, one: Value, other: Value) -> Value:
        """A Python operator. Raises ``UnsupportedError`` for one that is not taken."""
        if op == "pow":
            return _power(one, other)
        compute = _OPERATIONS.get(op)
        if compute is None:
            raise UnsupportedError(f"{SYMBOLS.get(op, op)} is not taken of complex numbers")
        return compute(*_alike(one, other))

    def compare(self, op: str, one: Value, other: Value) -> Value:
        """Whether both parts are equal. Raises ``UnsupportedError`` for an order."""
        if op not in {"eq", "ne"}:
            raise UnsupportedError(
                "an order of complex numbers", hint="compare their parts, or np.abs of them"
            )
        first, second = (as_complex(v) for v in _alike(one, other))
        join = both if op == "eq" else either
        return join(compare(op, first.re, second.re), compare(op, first.im, second.im))

    def select(self, cond: Value, then: Value, other: Value) -> Value:
        """One of two numbers, as a complex one."""
        first, second = (as_complex(v) for v in _alike(then, other))
        return Complex(select(cond, first.re, second.re), select(cond, first.im, second.im))

    def mapped(self, change: Callable[[Value], Value]) -> Complex:
        """The number with its parts changed."""
        return Complex(change(self.re), change(self.im))


def as_complex(value: Value) -> Complex:
    """A real number with an imaginary part of zero; a complex one as it is."""
    if isinstance(value, Complex):
        return value
    return Complex(value, Number(0.0) if is_weak(value) else _as(type_of(value), Number(0)))


def kind_of(value: Value) -> ScalarType:
    """``values.type_of``, also of complex numbers."""
    return value.kind if isinstance(value, Compound) else type_of(value)


def _parts(value: Value) -> list[Value]:
    return [value.re, value.im] if isinstance(value, Complex) else [value]


def _part_type(parts: Sequence[Value]) -> ScalarType | None:
    """The type of parts that NumPy computes in; none where all are Python's."""
    kinds = [type_of(v) for v in parts if not is_weak(v)]
    if not kinds:
        return None
    kind = reduce(promote_numpy, kinds).computed
    return kind if kind.is_float else F64


def _as(kind: ScalarType, value: Value) -> Value:
    return Strong(typed(value, kind))


def _alike(one: Value, other: Value) -> tuple[Value, Value]:
    """Two numbers in one precision."""
    kind = _part_type([*_parts(one), *_parts(other)])
    if kind is None:
        return one, other
    first, second = (
        v.mapped(partial(_as, kind)) if isinstance(v, Complex) else _as(kind, v)
        for v in (one, other)
    )
    return first, second


def _added(op: str, one: Value, other: Value) -> Value:
    if not isinstance(other, Complex):
        assert isinstance(one, Complex)
        return Complex(real(op, one.re, other), one.im)
    if not isinstance(one, Complex):
        return Complex(real(op, one, other.re), other.im if op == "add" else negative(other.im))
    return Complex(real(op, one.re, other.re), real(op, one.im, other.im))


def _product(one: Value, other: Value) -> Value:
    if not isinstance(one, Complex):
        one, other = other, one
    assert isinstance(one, Complex)
    if not isinstance(other, Complex):
        return one.mapped(lambda part: real("mul", part, other))
    a, b, c, d = one.re, one.im, other.re, other.im
    re = real("sub", real("mul", a, c), real("mul", b, d))
    return Complex(re, real("add", real("mul", a, d), real("mul", b, c)))


def _quotient(one: Value, other: Value) -> Value:
    """R. L. Smith, "Algorithm 116: Complex division", CACM 5 (1962), as NumPy has it."""
    if not isinstance(other, Complex):
        assert isinstance(one, Complex)
        return one.mapped(lambda part: real("truediv", part, other))
    top, c, d = as_complex(one), other.re, other.im
    steep = compare("lt", absolute(c), absolute(d))
    large, small = select(steep, d, c), select(steep, c, d)
    is_zero = compare("eq", large, Number(0))
    ratio = select(is_zero, Number(0.0), real("truediv", small, large))
    large = select(is_zero, Number(0.0), large)  # NumPy divides by the modulus of -0 - 0j
    below = real("add", large, real("mul", small, ratio))
    first, second = select(steep, top.im, top.re), select(steep, top.re, top.im)
    re = real("truediv", real("add", first, real("mul", second, ratio)), below)
    im = real("truediv", real("sub", second, real("mul", first, ratio)), below)
    # with the parts exchanged the imaginary one is (b r - a) / d: signs are those of i z
    turned = real("truediv", real("sub", real("mul", top.im, ratio), top.re), below)
    return Complex(re, select(steep, turned, im))


def _power(base: Value, exponent: Value) -> Value:
    if not isinstance(exponent, Number) or exponent.value not in _POWERS:
        raise UnsupportedError(
            "a power of a complex number other than 2 or 3", hint="write it as a product"
        )
    square = _product(base, base)
    return square if exponent.value == _POWERS[0] else _product(square, base)


_OPERATIONS: dict[str, Callable[[Value, Value], Value]] = {
    "add": partial(_added, "add"),
    "sub": partial(_added, "sub"),
    "mul": _product,
    "truediv": _quotient,
}


# functions


def _modulus(z: Complex) -> Value:
    """The root of the sum of squares, of f32 in double precision, so that nothing overflows."""
    kind = z.kind.part
    re, im = (_as(F64, part) for part in (z.re, z.im))
    squares = real("add", real("mul", re, re), real("mul", im, im))
    return convert(kind, float_call("sqrt", [squares]))


def _exponential(z: Complex) -> Value:
    z = z.mapped(partial(_as, z.kind.part))
    size = float_call("exp", [z.re])
    re, im = (real("mul", size, float_call(name, [z.im])) for name in ("cos", "sin"))
    # of a real number it is real, also where its size is infinite or no number
    return Complex(re, select(compare("eq", z.im, Number(0)), z.im, im))


def _is_nan(z: Complex) -> Value:
    return either(*(compare("ne", part, part) for part in (z.re, z.im)))


def conjugate(value: Value) -> Value:
    """The number with its imaginary part negated; a real one as it is."""
    return Complex(value.re, negative(value.im)) if isinstance(value, Complex) else value


def real_part(value: Value) -> Value:
    """The real part; of a real number, it."""
    return value.re if isinstance(value, Complex) else value


def imaginary_part(value: Value) -> Value:
    """The imaginary part; of a real number, zero of its type."""
    return value.im if isinstance(value, Complex) else convert(type_of(value), Number(0))


def _angle(z: Complex) -> Value:
    kind = z.kind.part
    return float_call("atan2", [_as(kind, z.im), _as(kind, z.re)])


def _square(z: Complex) -> Value:
    return _product(z, z)


#: functions of one complex number
_FUNCTIONS: dict[object, Callable[[Complex], Value]] = {
    abs: _modulus,
    np.abs: _modulus,
    np.conj: conjugate,
    np.angle: _angle,
    np.exp: _exponential,
    np.isnan: _is_nan,
    np.square: _square,
    np.negative: negative,
    np.positive: lambda z: z,
}
_UFUNCS: dict[object, str] = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.divide: "truediv",
    np.power: "pow",
}  # fmt: skip
_COMPARISONS: dict[object, str] = {np.equal: "eq", np.not_equal: "ne"}


def call_complex(function: object, args: Sequence[Value]) -> Value:
    """A function of numbers of which one is complex. Raises ``UnsupportedError``."""
    one = args[0]
    if function in _FUNCTIONS and len(args) == 1:
        return _FUNCTIONS[function](as_complex(one))
    if len(args) == 2 and isinstance(function, np.ufunc):
        parts = next(a for a in args if isinstance(a, Complex))
        if function in _UFUNCS:
            return parts.binary(_UFUNCS[function], *args)
        if function in _COMPARISONS:
            return parts.compare(_COMPARISONS[function], *args)
    name = getattr(function, "__name__", str(function))
    raise UnsupportedError(f"{name} of complex numbers is not taken")


# conversions


def complex_type(dtype: object) -> ScalarType | None:
    """The complex type that a dtype, or what stands for one, names; none for others."""
    try:
        found = np.dtype(cast("Any", dtype))
    except TypeError:
        return None
    return {np.dtype("c8"): C64, np.dtype("c16"): C128}.get(found) if dtype is not None else None


def number_of(value: object) -> Value:
    """A Python or NumPy number; one of 16 bits as a half. Raises ``UnsupportedError``."""
    dtype: object = getattr(value, "dtype", None)
    kind = complex_type(dtype) if isinstance(value, np.generic) else None
    if isinstance(value, complex) or kind is not None:
        number = complex(cast("Any", value))
        pair = Complex(Number(number.real), Number(number.imag))
        return pair if kind is None else as_element(kind, pair)
    found = constant(cast("object", value))
    half = named_type(dtype.name) if isinstance(dtype, np.dtype) else None
    return as_element(half, found) if half is not None and half.is_half else found


def as_element(type_: ScalarType, value: Value) -> Value:
    """A number as an element of an array of a type: a half stays one, rounded to it.

    Raises ``UnsupportedError`` for a complex number where the type is real.
    """
    if type_.is_complex:
        return as_complex(value).mapped(partial(convert, type_.part))
    if isinstance(value, Complex):
        raise UnsupportedError(
            "a complex number where a real one is needed", hint="take its .real or np.abs of it"
        )
    if not type_.is_half:
        return convert(type_, value)
    return Strong(typed(value, type_))
