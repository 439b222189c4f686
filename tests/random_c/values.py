"""C expressions with their types and the values they may take, so that none of them is undefined."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .ctypes import TYPES, floating_literal, integer_literal, promoted, usual

if TYPE_CHECKING:
    from .draw import Draw

#: binary operators by precedence, as C has it
LEVELS = {
    "*": 13, "/": 13, "%": 13, "+": 12, "-": 12, "<<": 11, ">>": 11, "<": 10, "<=": 10, ">": 10, ">=": 10,
    "==": 9, "!=": 9, "&": 8, "^": 7, "|": 6, "&&": 5, "||": 4,
}  # fmt: skip
PRIMARY, UNARY, TERNARY = 15, 14, 3
_COMPARE = ("<", "<=", ">", ">=", "==", "!=")


@dataclass(frozen=True)
class Value:
    """An expression; ``low..high`` holds what an integer one may be."""

    text: str
    type: str
    low: int = 0
    high: int = 0
    level: int = PRIMARY

    @classmethod
    def any_of(cls, text: str, key: str, level: int = PRIMARY) -> Value:
        """Whatever the type holds."""
        type_ = TYPES[key]
        return (
            cls(text, key, level=level)
            if type_.floating
            else cls(text, key, type_.low, type_.high, level)
        )

    @property
    def floating(self) -> bool:
        """Whether it is a float or double."""
        return TYPES[self.type].floating

    def at(self, level: int) -> str:
        """Its text as an operand of that precedence."""
        bare = self.level >= level and not (level >= UNARY and self.text[0] in "-+&~!")
        return self.text if bare else f"({self.text})"


def converted(v: Value, key: str) -> Value:
    """The range after a conversion that is defined: not from floating values to integers."""
    type_ = TYPES[key]
    if type_.floating:
        return Value(v.text, key, level=v.level)
    if key == "bool":
        return replace(v, type=key, low=0, high=1)
    assert not v.floating, v
    fits = type_.low <= v.low and v.high <= type_.high
    return replace(
        v, type=key, low=v.low if fits else type_.low, high=v.high if fits else type_.high
    )


def joined(op: str, a: Value, b: Value) -> Value | None:
    """Two operands and an operator, or nothing where that may be undefined."""
    level = LEVELS[op]
    text = f"{a.at(level)} {op} {b.at(level + 1)}"
    if op in _COMPARE or op in {"&&", "||"}:
        return Value(text, "i32", 0, 1, level)
    key = usual(a.type, b.type)
    if TYPES[key].floating:
        return Value(text, key, level=level) if op in "+-*/" else None
    one, other = (
        converted(converted(a, promoted(a.type)), key),
        converted(converted(b, promoted(b.type)), key),
    )
    if op in {"<<", ">>"}:
        return _shifted(op, text, a, b)
    found = _range(op, one, other)
    if found is None:
        return None
    return _fitting(Value(text, key, *found, level))


def _fitting(v: Value) -> Value | None:
    """The value, wrapped where its type does that; nothing where it overflows."""
    type_ = TYPES[v.type]
    if type_.low <= v.low and v.high <= type_.high:
        return v
    return None if type_.signed else replace(v, low=0, high=type_.high)


def _range(op: str, a: Value, b: Value) -> tuple[int, int] | None:
    if op in "+-":
        return (a.low + b.low, a.high + b.high) if op == "+" else (a.low - b.high, a.high - b.low)
    if op == "*":
        corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        return min(corners), max(corners)
    if op in "/%":
        return _divided(op, a, b)
    if a.low >= 0 and b.low >= 0:
        high = min(a.high, b.high) if op == "&" else (1 << max(a.high, b.high).bit_length()) - 1
        return 0, high
    if op == "&" and max(a.low, b.low) >= 0:
        return 0, a.high if a.low >= 0 else b.high
    return TYPES[a.type].low, TYPES[a.type].high


def _divided(op: str, a: Value, b: Value) -> tuple[int, int] | None:
    if b.low <= 0 <= b.high or (b.low <= -1 <= b.high and a.low == TYPES[a.type].low < 0):
        return None
    most = max(abs(a.low), abs(a.high)) if op == "/" else max(abs(b.low), abs(b.high)) - 1
    most = min(most, max(abs(a.low), abs(a.high)))
    either = b.low < 0 if op == "/" else False
    return -most if a.low < 0 or either else 0, most if a.high > 0 or either else 0


def _shifted(op: str, text: str, a: Value, b: Value) -> Value | None:
    key = promoted(a.type)
    type_ = TYPES[key]
    if b.floating or a.floating or not (b.low >= 0 and b.high < type_.bits):
        return None
    if op == ">>":
        return Value(
            text,
            key,
            min(a.low >> b.low, a.low >> b.high),
            max(a.high >> b.low, a.high >> b.high),
            11,
        )
    if type_.signed and a.low < 0:
        return None
    return _fitting(Value(text, key, a.low << b.low, a.high << b.high, 11))


def negated(v: Value) -> Value | None:
    """``-v``, or nothing where that overflows."""
    key = v.type if v.floating else promoted(v.type)
    made = Value(f"-{v.at(UNARY)}", key, -v.high, -v.low, UNARY)
    return made if v.floating else _fitting(made)


def cast(v: Value, spelling: str, key: str) -> Value:
    """An explicit conversion."""
    return replace(converted(v, key), text=f"({spelling}){v.at(UNARY)}", level=UNARY)


def choice(test: str, a: Value, b: Value) -> Value:
    """``test ? a : b``; the test stands as it is."""
    key = usual(a.type, b.type)
    text = f"{test} ? {a.at(TERNARY)} : {b.at(TERNARY)}"
    if TYPES[key].floating:
        return Value(text, key, level=TERNARY)
    one, other = (converted(converted(v, promoted(v.type)), key) for v in (a, b))
    return Value(text, key, min(one.low, other.low), max(one.high, other.high), TERNARY)


def literal(draw: Draw) -> Value:
    """A number, perhaps a negative one."""
    if draw.chance(20):
        text, key = floating_literal(draw)
        return Value(text, key, level=UNARY if text[0] == "-" else PRIMARY)
    if draw.chance(5):
        return draw.choose(
            (Value("'a'", "i32", 97, 97), Value("-2147483647 - 1", "i32", -(2**31), -(2**31), 12))
        )
    text, key, value = integer_literal(draw)
    made = Value(text, key, value, value)
    return (negated(made) or made) if draw.chance(25) else made


def number(value: int) -> Value:
    """A small number."""
    return Value(str(value), "i32", value, value, PRIMARY if value >= 0 else UNARY)


def smaller(draw: Draw, v: Value) -> Value:
    """The value brought into a small range, in one of the ways programs have for it."""
    by = draw.choose((3, 7, 15, 63, 100, 255))
    ways = [joined("&", v, number(by)), joined("%", v, number(by))]
    if TYPES[v.type].bits <= 16:
        ways.append(joined("/", v, number(3)))
    low, high = draw.choose(((-9, 9), (0, 100), (-128, 127)))
    if len(v.text) < 30:
        # what is compared is what is chosen: the arms are within the bounds
        signed = TYPES[promoted(v.type)].signed
        test = f"{v.at(11)} > {high}" + (f" || {v.at(11)} < {low}" if signed else "")
        kept = replace(v, low=low if signed else 0, high=high)
        ways.append(choice(test, number(high), kept))
    return draw.choose([w for w in ways if w is not None])


def combined(draw: Draw, op: str, a: Value, b: Value, wide: str = "long long") -> Value:
    """The two under an operator, brought into range or to a wider type where it must be."""
    for _ in range(4):
        found = joined(op, a, b)
        if found is not None:
            return found
        if a.floating or b.floating:
            return joined(draw.choose("+-*/"), a, b) or a
        if op in {"+", "-", "*"} and TYPES[usual(a.type, b.type)].bits == 32 and draw.chance(40):
            a = cast(a, wide, "i64")
        elif op in {"/", "%", "<<", ">>"}:
            b = _right(draw, op, a)
            a = smaller(draw, a) if op == "<<" else a
        elif abs(a.low) + abs(a.high) > abs(b.low) + abs(b.high):
            a = smaller(draw, a)
        else:
            b = smaller(draw, b)
    return joined("^", a, b) or a


def _right(draw: Draw, op: str, a: Value) -> Value:
    """A right operand that is safe for any left one."""
    if op in {"<<", ">>"}:
        return number(draw.integer(0, 7))
    divisor = draw.choose((2, 3, 4, 5, 7, 8, 10, 16, 97, -2, -3, -7, 255, 1))
    return number(divisor if divisor > 0 or TYPES[promoted(a.type)].signed else -divisor)


def whole(draw: Draw, v: Value, key: str, spelling: str) -> Value:
    """A floating value as an integer: zero, or another number, where it does not fit."""
    type_ = TYPES[key]
    bound = min(type_.high, draw.choose((100, 1000, 100000, 1 << 30)))
    low = -bound if type_.signed else 0
    least = "-1" if not type_.signed else str(low)
    test = f"{v.at(11)} > {least} && {v.at(11)} < {bound}"
    inside = Value(f"({spelling}){v.at(UNARY)}", key, low, bound, UNARY)
    return choice(test, inside, number(draw.choose((0, 1, 7, *([-1] if type_.signed else [])))))


def stored(draw: Draw, v: Value, key: str, spelling: str) -> Value:
    """The value as one that may be assigned to that type."""
    if v.floating and not TYPES[key].floating and key != "bool":
        return whole(draw, v, key, spelling)
    return v
