"""C expressions with known value ranges, so that random programs never overflow or round.

Floating-point values stay integers small enough to be exact, so every order of evaluation gives
the same bits; signed integers stay inside their type; unsigned ones may wrap, as C defines it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Greatest magnitude up to which all integers and their sums are exact.
EXACT = {"f32": 1 << 22, "f64": 1 << 50}

C_NAMES = {
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "i8": "int8_t", "i16": "int16_t", "i32": "int", "i64": "int64_t",
    "f32": "float", "f64": "double",
}  # fmt: skip

NUMPY_NAMES = {
    name: {"u": "uint", "i": "int", "f": "float"}[name[0]] + name[1:] for name in (*C_NAMES, "f16")
}

_ATOM, _UNARY, _MUL, _ADD, _SHIFT, _AND, _SELECT = 9, 8, 7, 6, 5, 4, 1


def is_float(type_: str) -> bool:
    """Whether the type is a floating-point one."""
    return type_[0] == "f"


def type_range(type_: str) -> tuple[int, int]:
    """Least and greatest value: of the type, or that are exact in it."""
    bits = int(type_[1:])
    if is_float(type_):
        return -EXACT[type_], EXACT[type_]
    return (0, (1 << bits) - 1) if type_[0] == "u" else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


@dataclass(frozen=True)
class Lin:
    """A linear form ``sum coefficient * name + constant`` over iterators and sizes."""

    terms: Mapping[str, int] = field(default_factory=dict[str, int])
    constant: int = 0

    @staticmethod
    def of(name: str, factor: int = 1) -> Lin:
        """``factor * name``."""
        return Lin({name: factor})

    def __add__(self, other: Lin | int) -> Lin:
        """Sum with a form or an integer."""
        if isinstance(other, int):
            return Lin(self.terms, self.constant + other)
        terms = dict(self.terms)
        for name, factor in other.terms.items():
            terms[name] = terms.get(name, 0) + factor
        return Lin({n: f for n, f in terms.items() if f}, self.constant + other.constant)

    def __mul__(self, factor: int) -> Lin:
        """Product with an integer."""
        terms = {n: f * factor for n, f in self.terms.items() if f * factor}
        return Lin(terms, self.constant * factor)

    def __sub__(self, other: Lin | int) -> Lin:
        """Difference from a form or an integer."""
        return self + (-other if isinstance(other, int) else other * -1)

    def at(self, values: Mapping[str, int]) -> int:
        """The value where names have these values."""
        return self.constant + sum(f * values[n] for n, f in self.terms.items())

    def natural(self, least: Mapping[str, int]) -> bool:
        """Whether surely ``>= 0`` for all names at or above their least values."""
        return all(f >= 0 for f in self.terms.values()) and self.at(least) >= 0

    def __str__(self) -> str:
        """The form as C."""
        text = ""
        for name, factor in sorted(self.terms.items(), key=lambda term: term[1] < 0):
            sign = " - " if factor < 0 else " + "
            part = name if abs(factor) == 1 else f"{abs(factor)} * {name}"
            text += sign + part if text else ("-" if factor < 0 else "") + part
        if not text:
            return str(self.constant)
        if self.constant:
            text += f" {'+' if self.constant > 0 else '-'} {abs(self.constant)}"
        return text


@dataclass(frozen=True)
class Value:
    """A C expression, its C type, and bounds of its value."""

    text: str
    type: str
    low: int
    high: int
    level: int = _ATOM

    def at(self, level: int) -> str:
        """The text as an operand of an operator of that precedence."""
        return self.text if self.level >= level else f"({self.text})"


def promoted(type_: str) -> str:
    """C's integer promotion."""
    return "i32" if type_ in {"u8", "u16", "i8", "i16"} else type_


def common(one: str, other: str) -> str:
    """C's usual arithmetic conversions."""
    one, other = promoted(one), promoted(other)
    order = ("i32", "u32", "i64", "u64", "f32", "f64")
    return max(one, other, key=order.index)


def literal(type_: str, number: int) -> Value:
    """An integer as a literal of a float type or of ``int``."""
    suffix = {"f32": ".0f", "f64": ".0"}.get(type_, "")
    level = _UNARY if number < 0 else _ATOM
    return Value(f"{number}{suffix}", type_ if suffix else "i32", number, number, level)


def converted(value: Value, type_: str) -> Value | None:
    """The value after implicit conversion; ``None`` where C leaves that open or it rounds."""
    low, high = type_range(type_)
    if low <= value.low and value.high <= high:
        return Value(value.text, type_, value.low, value.high, value.level)
    if is_float(type_) or is_float(value.type):
        return None
    return Value(value.text, type_, low, high, value.level)


def cast(value: Value) -> Value:
    """The value, converted to its type by a cast."""
    return replace(value, text=f"({C_NAMES[value.type]}){value.at(_UNARY)}", level=_UNARY)


def _ranged(text: str, type_: str, low: int, high: int, level: int) -> Value | None:
    """A result; unsigned ones wrap, others must fit."""
    least, most = type_range(type_)
    if least <= low and high <= most:
        return Value(text, type_, low, high, level)
    return Value(text, type_, least, most, level) if type_[0] == "u" else None


def arith(op: str, a: Value, b: Value) -> Value | None:
    """``a op b`` for ``+ - *``; ``None`` where it might overflow or round."""
    type_ = common(a.type, b.type)
    left, right = converted(a, type_), converted(b, type_)
    if left is None or right is None:
        return None
    corners = {
        "+": (left.low + right.low, left.high + right.high),
        "-": (left.low - right.high, left.high - right.low),
        "*": tuple(x * y for x in (left.low, left.high) for y in (right.low, right.high)),
    }[op]
    level = _MUL if op == "*" else _ADD
    text = f"{a.at(level)} {op} {b.at(level + 1)}"
    return _ranged(text, type_, min(corners), max(corners), level)


def extreme(op: str, a: Value, b: Value) -> Value | None:
    """``min`` or ``max``: a call for floats, a comparison for integers."""
    type_ = common(a.type, b.type)
    left, right = converted(a, type_), converted(b, type_)
    if left is None or right is None:
        return None
    choose = min if op == "min" else max
    low, high = choose(left.low, right.low), choose(left.high, right.high)
    if is_float(type_):
        call = f"f{op}{'f' if type_ == 'f32' else ''}"
        return Value(f"{call}({a.text}, {b.text})", type_, low, high)
    sign = "<" if op == "min" else ">"
    text = f"{a.at(_SHIFT)} {sign} {b.at(_SHIFT)} ? {a.text} : {b.at(_SELECT)}"
    return Value(text, type_, low, high, _SELECT)


def choice(condition: str, a: Value, b: Value) -> Value | None:
    """``condition ? a : b``."""
    type_ = common(a.type, b.type)
    left, right = converted(a, type_), converted(b, type_)
    if left is None or right is None:
        return None
    text = f"{condition} ? {a.at(_SELECT + 1)} : {b.at(_SELECT)}"
    return Value(text, type_, min(left.low, right.low), max(left.high, right.high), _SELECT)


def tamed(value: Value) -> Value:
    """The value cut to a small range: by a mask, or by bounds for floats."""
    if value.low >= -64 and value.high <= 64:
        return value
    if is_float(value.type):
        f = "f" if value.type == "f32" else ""
        text = f"fmin{f}(fmax{f}({value.text}, -50.0{f}), 50.0{f})"
        return Value(text, value.type, -50, 50)
    return Value(f"{value.at(_ADD)} & 63", promoted(value.type), 0, 63, _AND)


def quotient(value: Value, op: str, by: int) -> Value:
    """``value / by`` or ``value % by`` of an integer, rounding towards zero."""
    type_ = promoted(value.type)
    text = f"{value.at(_MUL)} {op} {by}"
    if op == "/":
        low, high = (abs(n) // by * (1 if n >= 0 else -1) for n in (value.low, value.high))
    else:
        low, high = (0 if value.low >= 0 else 1 - by), (0 if value.high <= 0 else by - 1)
    return Value(text, type_, low, high, _MUL)


def half(value: Value) -> Value:
    """Half of the value, rounded down: a shift of integers, ``floor`` for floats.

    The operand is not negative where it is an integer, or it is tamed.
    """
    if is_float(value.type):
        f = "f" if value.type == "f32" else ""
        text = f"floor{f}({value.at(_MUL)} * 0.5{f})"
        return Value(text, value.type, value.low // 2, value.high // 2)
    if value.low < 0:
        value = tamed(value) if value.low < -64 else quotient(value, "/", 2)
        if value.low < 0:
            return value
    text = f"{value.at(_ADD)} >> 1"
    return Value(text, promoted(value.type), value.low >> 1, value.high >> 1, _SHIFT)


def absolute(value: Value) -> Value:
    """The magnitude: ``fabs`` for floats, a comparison for integers."""
    low = 0 if value.low <= 0 <= value.high else min(abs(value.low), abs(value.high))
    high = max(abs(value.low), abs(value.high))
    if is_float(value.type):
        f = "f" if value.type == "f32" else ""
        return Value(f"fabs{f}({value.text})", value.type, low, high)
    if value.low >= 0 or -value.low > type_range(promoted(value.type))[1]:
        return value
    text = f"{value.at(_SHIFT)} < 0 ? -{value.at(_UNARY)} : {value.at(_SELECT)}"
    return Value(text, promoted(value.type), low, high, _SELECT)
