"""A program under construction: its sizes, arrays and names, and expressions over them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .ctypes import DATA, FLOATS, INTEGERS, TYPES, promoted, spelled, usual
from .names import Names
from .shapes import Axis, Cells, Extent, clamped, guarded, subscripts
from .values import (
    PRIMARY,
    TERNARY,
    Value,
    cast,
    choice,
    combined,
    converted,
    joined,
    literal,
    negated,
    number,
    smaller,
    stored,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .draw import Draw

#: texts that are repeated (as in minima) are no longer than that
_SHORT = 50
#: and no expression than that
_LONG = 350
_MATH = {
    "sqrt": "f64",
    "fabs": "f64",
    "floor": "f64",
    "ceil": "f64",
    "trunc": "f64",
    "sqrtf": "f32",
    "fabsf": "f32",
    "floorf": "f32",
}


@dataclass(frozen=True)
class Helper:
    """A function of the file."""

    name: str
    key: str
    arguments: tuple[str, ...]


@dataclass
class Scope:
    """What a place in a program sees: loops from the outside in, and local scalars."""

    axes: list[Axis] = field(default_factory=list[Axis])
    values: list[Value] = field(default_factory=list[Value])

    def inside(self, *axes: Axis) -> Scope:
        """The scope of a loop's body."""
        return Scope([*self.axes, *axes], list(self.values))


class Builder:
    """Draws expressions; ``wild`` programs have what only whole files may have."""

    def __init__(self, draw: Draw, *, wild: bool, headers: bool) -> None:
        self.draw, self.wild, self.headers = draw, wild, headers
        self.names = Names(draw, headers=headers, taken=tuple(_MATH) if headers else ())
        #: sizes by name with their types; those of macros have their value in ``fixed``
        self.sizes: dict[str, str] = {}
        self.fixed: dict[str, int] = {}
        self.arrays: list[Cells] = []
        self.scalars: list[Value] = []
        self.helpers: list[Helper] = []
        self.minimum = self.maximum = ""
        #: what stands before the function, and names of file scope in it
        self.head: list[str] = []
        self.file_names: list[str] = []
        self.types = draw.some(DATA, draw.integer(1, 5))

    def spelled(self, key: str) -> str:
        """A spelling of a type."""
        return spelled(self.draw, key, headers=self.headers)

    # -- operands -----------------------------------------------------------------------------

    def leaf(self, scope: Scope) -> Value:
        """An operand."""
        draw = self.draw
        kind = draw.integer(0, 99)
        if kind < 55 and scope.axes:
            return self.load(scope)
        if kind < 68 and scope.values:
            return draw.choose(scope.values)
        if kind < 78 and scope.axes:
            return draw.choose(scope.axes).value
        if kind < 84 and self.scalars and scope.axes:
            return draw.choose(self.scalars)
        if kind < 88 and self.sizes and scope.axes:
            return self.size_value(draw.choose(list(self.sizes)))
        if scope.values and not scope.axes and kind < 80:
            return draw.choose(scope.values)
        return literal(draw)

    def size_value(self, name: str) -> Value:
        """A size as an operand."""
        return Value(name, self.sizes[name], 1, self.fixed.get(name, 90))

    def load(self, scope: Scope, cells: Cells | None = None) -> Value:
        """An element of some array at a position that is inside, perhaps behind a test."""
        readable = [a for a in self.arrays if a.into is None]
        cells = cells or self.draw.choose(readable)
        tests: list[str] = []
        found = [self.subscript(extent, scope, tests) for extent in cells.extents]
        value = Value.any_of(cells.element(found), cells.key)
        if not tests:
            return value
        other = self.draw.choose((number(0), number(1), literal(self.draw)))
        return choice(" && ".join(tests), value, other)

    def subscript(self, extent: Extent, scope: Scope, tests: list[str] | None = None) -> str:
        """A position inside; ``tests`` take what has to hold for it."""
        draw = self.draw
        if tests is not None:
            if self.wild and draw.chance(12) and (found := self.gathered(extent, scope)):
                return found
            if scope.axes and draw.chance(12):
                axis = draw.choose(scope.axes)
                at_border = clamped(draw, extent, axis)
                if at_border and draw.chance(40):
                    return at_border
                if behind := guarded(draw, extent, axis):
                    tests.append(behind[0])
                    return behind[1]
        found = self.positions(extent, scope.axes)
        if found and not draw.chance(4):
            return draw.choose(found)
        return str(draw.integer(0, min(extent.least, 3) - 1))

    def positions(self, extent: Extent, axes: Sequence[Axis]) -> list[str]:
        """All that is known to be inside, innermost loops more often."""
        found: list[str] = []
        for axis in axes:
            found += subscripts(self.draw, extent, axis, self.sizes)
        short = [a for a in axes if not a.size]
        for axis in axes:
            for by in short if axis.size else ():
                both = replace(
                    axis,
                    text=f"{axis.text} + {by.text}",
                    low=axis.low + by.low,
                    top=axis.top - by.high,
                    simple=False,
                )
                found += subscripts(self.draw, extent, both, self.sizes)[:3]
        return found

    def gathered(self, extent: Extent, scope: Scope) -> str | None:
        """A position that data decide."""
        pointing = [a for a in self.arrays if a.into == extent]
        if pointing:
            at = self.draw.choose(pointing)
            return at.element([self.subscript(e, scope) for e in at.extents])
        whole = [a for a in self.arrays if a.key in INTEGERS and a.into is None]
        if extent.size or extent.more < 2 or not whole:
            return None
        load = self.load_plain(self.draw.choose(whole), scope)
        mask = 1 << (extent.more.bit_length() - 1)
        if self.draw.chance(60):
            return f"{load} & {mask - 1}"
        unsigned = [a for a in whole if not TYPES[a.key].signed]
        return (
            f"{self.load_plain(self.draw.choose(unsigned), scope)} % {extent.more}"
            if unsigned
            else None
        )

    def load_plain(self, cells: Cells, scope: Scope) -> str:
        """An element without any test."""
        return cells.element([self.subscript(e, scope) for e in cells.extents])

    # -- tests --------------------------------------------------------------------------------

    def test(self, scope: Scope, *, data: bool) -> str:
        """A condition; on iterators and sizes alone where data may not decide."""
        draw = self.draw
        first = self._comparison(scope, data=data)
        if draw.chance(35):
            op = draw.choose(("&&", "||"))
            second = self._comparison(scope, data=data)
            return f"{first} {op} {second}" if draw.chance(80) else f"!({first} {op} {second})"
        return first

    def _comparison(self, scope: Scope, *, data: bool) -> str:
        draw = self.draw
        if not scope.axes or (data and draw.chance(60)):
            made = joined(
                draw.choose(("<", "<=", ">", ">=", "==", "!=")), self.leaf(scope), self.leaf(scope)
            )
            return made.text if made else "1"
        axis = draw.choose(scope.axes)
        text = axis.text
        if draw.chance(35) and len(scope.axes) > 1:
            text = (
                f"{text} {draw.choose('+-')} {draw.choose(scope.axes).text}"
                if axis.simple
                else text
            )
        if draw.chance(15):
            return (
                f"({text}) % {draw.integer(2, 4)} {draw.choose(('==', '!='))} {draw.integer(0, 1)}"
            )
        op = draw.choose(("<", "<=", ">", ">=", "==", "!="))
        sizes = list(self.sizes)
        ends = [str(draw.integer(0, 9)), draw.choose(scope.axes).text]
        ends += [draw.choose((s, f"{s} - 1", f"{s} / 2")) for s in sizes]
        return f"{text} {op} {draw.choose(ends)}"

    # -- expressions --------------------------------------------------------------------------

    def expression(self, scope: Scope, depth: int = 3) -> Value:
        """An expression that is defined whatever the arrays hold."""
        draw = self.draw
        if depth == 0 or draw.chance(12):
            return self.leaf(scope)
        made = draw.choose(_MAKERS)(self, scope, depth)
        return made if len(made.text) < _LONG else self.leaf(scope)

    def _binary(self, scope: Scope, depth: int) -> Value:
        op = self.draw.choose(("+", "+", "+", "-", "-", "*", "*"))
        a, b = self.expression(scope, depth - 1), self.expression(scope, depth - 1)
        return combined(self.draw, op, a, b, self.spelled("i64"))

    def _integral(self, scope: Scope, depth: int) -> Value:
        a, b = (self._integer(self.expression(scope, depth - 1)) for _ in range(2))
        return combined(
            self.draw,
            self.draw.choose(("/", "/", "%", "%", "&", "|", "^", "<<", ">>", ">>")),
            a,
            b,
            self.spelled("i64"),
        )

    def _integer(self, v: Value) -> Value:
        if not v.floating:
            return v
        key = self.draw.choose(("i32", "i64", "u8", "i16"))
        return stored(self.draw, v, key, self.spelled(key)) if len(v.text) < _SHORT else number(3)

    def _compare(self, scope: Scope, depth: int) -> Value:
        op = self.draw.choose(("<", "<=", ">", ">=", "==", "!=", "&&", "||"))
        a, b = self.expression(scope, depth - 1), self.expression(scope, depth - 1)
        return joined(op, a, b) or a

    def _tests(self, scope: Scope, depth: int) -> Value:
        """Several tests over one row in one statement."""
        made = choice(
            self.test(scope, data=False),
            self.expression(scope, depth - 2 if depth > 1 else 0),
            self.leaf(scope),
        )
        for _ in range(self.draw.integer(0, 2)):
            again = choice(self.test(scope, data=False), self.leaf(scope), self.leaf(scope))
            made = combined(self.draw, self.draw.choose("+-*"), made, again, self.spelled("i64"))
        return made

    def _select(self, scope: Scope, depth: int) -> Value:
        test = self.test(scope, data=True)
        return choice(test, self.expression(scope, depth - 1), self.expression(scope, depth - 1))

    def _extreme(self, scope: Scope, depth: int) -> Value:
        a, b = self.expression(scope, depth - 2 if depth > 1 else 0), self.leaf(scope)
        if len(a.text) + len(b.text) > 2 * _SHORT:
            return a
        if self.draw.chance(40) and self.minimum:
            name = self.draw.choose((self.minimum, self.maximum))
            return replace(choice("", a, b), text=f"{name}({a.text}, {b.text})", level=PRIMARY)
        test = joined(self.draw.choose("<>"), a, b)
        return choice(test.text if test else "1", a, b)

    def _divided(self, scope: Scope, depth: int) -> Value:
        """A division whose divisor comes from data, behind a test or made odd."""
        a, b = self._integer(self.expression(scope, depth - 1)), self._integer(self.leaf(scope))
        op = self.draw.choose("/%")
        key = usual(a.type, b.type)
        if len(b.text) > _SHORT:
            return a
        positive = Value(b.text, key, max(1, b.low), max(1, b.high), b.level)
        made = joined(op, converted(a, key), positive)
        if made is None or (TYPES[key].signed and not TYPES[promoted(b.type)].signed):
            return a
        made = joined(op, a, replace(b, low=1, high=max(1, b.high))) or made
        return choice(f"{b.at(11)} > 0", made, self.leaf(scope))

    def _cast(self, scope: Scope, depth: int) -> Value:
        v = self.expression(scope, depth - 1)
        key = self.draw.choose((*INTEGERS, *FLOATS))
        spelling = self.spelled(key)
        if v.floating and not TYPES[key].floating and key != "bool":
            return stored(self.draw, v, key, spelling) if len(v.text) < _SHORT else v
        return cast(v, spelling, key)

    def _unary(self, scope: Scope, depth: int) -> Value:
        v = self.expression(scope, depth - 1)
        kind = self.draw.choose("-~!-")
        if kind == "!":
            return Value(f"!{v.at(14)}", "i32", 0, 1, 14)
        if kind == "~" and not v.floating:
            key = promoted(v.type)
            signed = TYPES[key].signed
            low, high = (~v.high, ~v.low) if signed else (0, TYPES[key].high)
            return Value(f"~{v.at(14)}", key, low, high, 14)
        return negated(v) or negated(smaller(self.draw, v)) or v

    def _call(self, scope: Scope, depth: int) -> Value:
        draw = self.draw
        if self.headers and scope.axes and draw.chance(40):
            name = draw.choose(list(_MATH))
            v = self.expression(scope, depth - 1)
            return Value(f"{name}({v.text})", _MATH[name])
        if not self.helpers:
            return self._binary(scope, depth)
        helper = draw.choose(self.helpers)
        given = [
            stored(
                draw, self.expression(scope, depth - 2 if depth > 1 else 0), key, self.spelled(key)
            )
            for key in helper.arguments
        ]
        return Value.any_of(f"{helper.name}({', '.join(v.text for v in given)})", helper.key)

    # -- assignments --------------------------------------------------------------------------

    def fitted(self, v: Value, key: str) -> str:
        """The text of a value that is stored as that type."""
        return stored(self.draw, v, key, self.spelled(key)).text

    def assignment(self, element: str, key: str, value: Value, percent: int = 25) -> str:
        """``element = value;`` or with an operator, where that is defined whatever there was."""
        draw = self.draw
        if draw.chance(percent):
            op = draw.choose(("+", "+", "+", "-", "*", "&", "|", "^", ">>", "<<", "/", "%"))
            before = Value.any_of(element, key)
            value = number(draw.integer(0, 7)) if op in {"<<", ">>"} else value
            made = joined(op, before, value)
            if made and (TYPES[key].floating or not made.floating or key == "bool"):
                return f"{element} {op}= {value.text};"
            small = smaller(draw, value) if not value.floating else value
            if (
                not TYPES[key].floating
                and not small.floating
                and TYPES[key].bits < 32
                and op in "+-*"
            ):
                return f"{element} {op}= {small.text};"
        if (
            draw.chance(4)
            and key != "bool"
            and (not TYPES[key].signed or TYPES[key].bits < 32 or TYPES[key].floating)
        ):
            return draw.choose(
                (f"{element}++;", f"--{element};", f"{element} += 1;", f"{element}--;")
            )
        return f"{element} = {self.fitted(value, key)};"


_MAKERS = (
    *[Builder._binary] * 9, *[Builder._integral] * 4, *[Builder._tests] * 3, *[Builder._extreme] * 2, Builder._compare,
    *[Builder._select] * 2, *[Builder._cast] * 3, *[Builder._unary] * 2, *[Builder._call] * 2, Builder._divided,
)  # fmt: skip
assert TERNARY < PRIMARY
