"""A piece of C text that knows its precedence, its C type, and the bounds of its value."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

import numpy as np

from polyopt.ir.types import F32, I32, I64, U32, U64, ScalarType, promote_c

#: C's precedence levels, higher binds tighter.
PRIMARY, UNARY, MUL, ADD, SHIFT, LESS, EQUAL = 15, 14, 13, 12, 11, 10, 9
AND, XOR, OR, LOGICAL_AND, LOGICAL_OR, TERNARY, ASSIGN = 8, 7, 6, 5, 4, 3, 2

_TOKEN = re.compile(r"\s+|[A-Za-z_]\w*|(?:\d|\.\d)(?:[eEpP][+-]|[\w.])*|<<|>>|->|[<>=!]=|&&|\|\||.")
_BINARY_LEVEL = {
    "*": MUL, "/": MUL, "%": MUL, "+": ADD, "-": ADD, "<<": SHIFT, ">>": SHIFT, "<": LESS,
    ">": LESS, "<=": LESS, ">=": LESS, "==": EQUAL, "!=": EQUAL, "&": AND, "^": XOR, "|": OR,
    "&&": LOGICAL_AND, "||": LOGICAL_OR, "?": TERNARY, "=": ASSIGN, ",": 1,
}  # fmt: skip


@dataclass(frozen=True)
class CText:
    """A piece of C: its text, the precedence of its outermost operator, and what C computes.

    ``type`` is the IR type it stands for, ``ctype`` the type that C gives it, ``bounds`` what
    an integer's C value can be. ``wraps`` says that it relies on wrapping signed overflow.
    """

    text: str
    precedence: int
    type: ScalarType
    ctype: ScalarType
    bounds: tuple[int, int] = (0, 0)
    wraps: bool = False

    def __str__(self) -> str:
        """The text alone."""
        return self.text

    def at(self, precedence: int) -> str:
        """The text as an operand: in parentheses where it binds less tightly than asked."""
        return self.text if self.precedence >= precedence else f"({self.text})"

    @property
    def is_exact(self) -> bool:
        """Whether C's value is the IR's value, and not only congruent to it."""
        return self.type.is_float or is_inside(self.bounds, self.type)


def c_constant(type_: ScalarType, value: float) -> CText:
    """A literal that C reads back as exactly this value."""
    if type_.is_float:
        return _float_constant(type_, value)
    number = int(value)
    bounds = (number, number)
    if number == I64.range[0]:
        return CText("INT64_MIN", PRIMARY, type_, I64, bounds)
    if number == I32.range[0]:
        return CText("INT32_MIN", PRIMARY, type_, I32, bounds)
    level = UNARY if number < 0 else PRIMARY
    if is_inside(bounds, I32):
        return CText(str(number), level, type_, I32, bounds)
    if type_.kind == "uint":
        ctype = U32 if is_inside(bounds, U32) else U64
        return CText(f"{number}u", PRIMARY, type_, ctype, bounds)
    return CText(str(number), level, type_, I64, bounds)


def loaded_text(type_: ScalarType, text: str) -> CText:
    """An element by its text: any value of its type."""
    return CText(text, precedence_of(text), type_, type_, whole(type_))


def _float_constant(type_: ScalarType, value: float) -> CText:
    sign = "-" if math.copysign(1.0, value) < 0 and not math.isnan(value) else ""
    level = UNARY if sign else PRIMARY
    if not math.isfinite(value):
        name = "NAN" if math.isnan(value) else "INFINITY"
        return CText(sign + name, level, type_, F32)
    text = str(np.float32(abs(value))) if type_ == F32 else repr(float(abs(value)))
    if not set(text) & set(".e"):
        text += ".0"
    return CText(sign + text + ("f" if type_ == F32 else ""), level, type_, type_)


def precedence_of(text: str) -> int:
    """The precedence of the outermost operator of a C expression that others printed."""
    depth, level, operand = 0, PRIMARY, False
    for part in _TOKEN.findall(text):
        if part.isspace():
            continue
        if part in "([":
            depth += 1
        elif part in ")]":
            depth -= 1
        elif depth == 0 and not operand and part in "-+!~*&":
            level = min(level, UNARY)
            continue
        elif depth == 0 and part in _BINARY_LEVEL:
            level = min(level, _BINARY_LEVEL[part])
            operand = False
            continue
        elif part in {".", "->"}:
            operand = False
            continue
        elif depth == 0 and operand:
            level = min(level, UNARY)  # an operand right after ``(type)``: a cast
        operand = True
    return level


#: what stands before and after an expression that is no part of a longer word or name
_BEFORE = re.compile(r"(<<|>>|[<>=!]=|&&|\|\||[-+*/%<>&^|=?:,]) $|[([]$|^$")
_AFTER = re.compile(r" (<<|>>|[<>=!]=|&&|\|\||[-+*/%<>&^|=?:,])|[)\],;]|$")


def with_name(text: str, expression: str, name: str) -> str:
    """C with ``name`` for an expression, wherever that stands as an operand of its own.

    ``- (int32_t)x + 1`` holds the text ``x + 1``, but no operand that is its sum.
    """
    level = precedence_of(expression)
    kept: list[str] = []
    last = 0
    for found in re.finditer(re.escape(expression), text):
        start, end = found.span()
        if start >= last and _stands(text[:start], text[end:], level):
            kept += text[last:start], name
            last = end
    return "".join((*kept, text[last:]))


def _stands(before: str, after: str, level: int) -> bool:
    """Whether what is between these texts, of an operator of this level, is an operand."""
    if before.endswith((")", "-", "!", "~", "*", "&")):
        left = UNARY - 1  # a cast, or a sign: binary operators have a space behind them
    elif (found := _BEFORE.search(before)) is None:
        return False
    else:
        left = 0 if found[1] == "?" else _level(found[1])
    behind = _AFTER.match(after)
    if behind is None:
        return False
    right = _level(behind[1])
    return left < level and (right < level or right == level not in {TERNARY, ASSIGN})


def _level(operator: str | None) -> int:
    return _BINARY_LEVEL.get(operator or "", 0)


def is_inside(bounds: tuple[int, int], type_: ScalarType) -> bool:
    """Whether every value within the bounds is one of the integer type."""
    if type_.is_float:
        return False
    low, high = type_.range
    return low <= bounds[0] and bounds[1] <= high


def explicit(value: CText, type_: ScalarType) -> CText:
    """``(type)value``; a literal gets a suffix where that does it."""
    if value.ctype == type_:
        return value
    kept = not value.ctype.is_float and is_inside(value.bounds, type_)
    bounds = value.bounds if kept else whole(type_)
    if type_ == U32 and kept and value.text.isdigit():
        return replace(value, text=value.text + "u", ctype=U32, bounds=bounds)
    text = f"({type_.c_name}){value.at(UNARY)}"
    return replace(value, text=text, precedence=UNARY, ctype=type_, bounds=bounds)


def in_unsigned(value: CText) -> CText:
    """The value as an unsigned number of its width, or of ``int``'s: these wrap in C."""
    return explicit(value, U32 if value.type.bits <= U32.bits else U64)


def whole(type_: ScalarType) -> tuple[int, int]:
    """The bounds of a type's values; floats have none to speak of."""
    return (0, 0) if type_.is_float else type_.range


def exact(value: CText) -> CText:
    """The value itself, not only one congruent to it: cast back where they may differ."""
    return value if value.is_exact else explicit(value, value.type)


def convert(value: CText) -> CText:
    """A float whose conversion C has not made yet, converted now; integers as they are."""
    return explicit(value, value.type) if value.type.is_float else value


def common_type(*values: CText) -> ScalarType:
    """C's usual arithmetic conversions."""
    result = promote_c(values[0].ctype, values[0].ctype)
    for value in values[1:]:
        result = promote_c(result, value.ctype)
    return result


def is_simple(value: CText) -> bool:
    """Whether repeating the text costs a reader nothing: a name or a literal."""
    return re.fullmatch(r"-?[\w.]+(?:e-\d+f?)?", value.text) is not None


def operation_bounds(op: str, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
    """Bounds of an operation's result over unbounded integers."""
    (a, b), (c, d) = left, right
    match op:
        case "add":
            return a + c, b + d
        case "sub":
            return a - d, b - c
        case "mul":
            corners = (a * c, a * d, b * c, b * d)
            return min(corners), max(corners)
        case "and" if a >= 0 or c >= 0:
            return 0, min(x for x, low in ((b, a), (d, c)) if low >= 0)
        case _:
            bits = max((x if x >= 0 else ~x).bit_length() for x in (a, b, c, d))
            least = max(a, c) if op == "or" else 0
            return (least if a >= 0 and c >= 0 else -(1 << bits)), (1 << bits) - 1


def decided(op: str, left: tuple[int, int], right: tuple[int, int]) -> bool | None:
    """The outcome where bounds alone settle it: compilers warn about such comparisons."""
    (a, b), (c, d) = left, right
    match op:
        case "lt":
            return True if b < c else False if a >= d else None
        case "le":
            return True if b <= c else False if a > d else None
        case _:
            if b < c or d < a:
                return op == "ne"
            return op == "eq" if a == b == c == d else None
