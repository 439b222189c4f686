"""Sizes, arrays and loops of random programs, and subscripts that stay inside."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from .ctypes import TYPES
from .values import Value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .draw import Draw

#: no size is larger
MOST = 90


@dataclass(frozen=True)
class Extent:
    """``factor * size + more``; a number where there is no size."""

    size: str
    more: int
    factor: int = 1

    def __str__(self) -> str:
        """As it stands in a declaration."""
        if not self.size:
            return str(self.more)
        text = self.size if self.factor == 1 else f"{self.factor} * {self.size}"
        return text + (
            f" + {self.more}" if self.more > 0 else f" - {-self.more}" if self.more else ""
        )

    def at(self, sizes: Mapping[str, int]) -> int:
        """The number that it is."""
        return self.factor * sizes[self.size] + self.more if self.size else self.more

    @property
    def least(self) -> int:
        """What it is for the least sizes with which there are elements."""
        return self.more if self.more > 0 else self.factor + self.more


@dataclass(frozen=True)
class Axis:
    """A loop's variable as a position: ``low <= text <= size - 1 - top``, or ``<= high`` without a size."""

    text: str
    key: str
    size: str
    low: int
    top: int
    #: of a loop between numbers
    high: int = 0
    #: one operand of anything
    simple: bool = True

    @property
    def value(self) -> Value:
        """The position as an operand; sizes are at most ``MOST``."""
        high = MOST - 1 - self.top if self.size else self.high
        low = self.low if TYPES[self.key].signed else max(0, self.low)
        return Value(self.text, self.key, low, max(low, high), 15 if self.simple else 12)


@dataclass
class Cells:
    """An array: how it is declared, and how its elements are written."""

    name: str
    key: str
    extents: tuple[Extent, ...]
    #: ``rows`` (``a[i][j]``), ``flat`` (``a[i * m + j]``) or ``macro`` (``AT(a, i, j)``)
    form: str = "rows"
    macro: str = ""
    written: bool = False
    #: its elements are subscripts of that extent
    into: Extent | None = None
    local: bool = False
    #: how its parameter reads
    declared: str = ""

    def element(self, subscripts: Sequence[str]) -> str:
        """The element at these positions."""
        if self.form == "macro":
            return f"{self.macro}({self.name}, {', '.join(subscripts)})"
        if self.form == "flat":
            return f"{self.name}[{self._flat(subscripts)}]"
        return self.name + "".join(f"[{s}]" for s in subscripts)

    def _flat(self, subscripts: Sequence[str]) -> str:
        plain = [f"({s})" if "?" in s else s for s in subscripts]
        total = plain[0]
        for extent, subscript in zip(self.extents[1:], plain[1:], strict=True):
            total = f"{_operand(total)} * {_operand(str(extent))} + {subscript}"
        return total


def _operand(text: str) -> str:
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def shifted(text: str, by: int) -> str:
    """``text + by``."""
    return text if by == 0 else f"{text} + {by}" if by > 0 else f"{text} - {-by}"


def subscripts(draw: Draw, extent: Extent, axis: Axis, size_keys: Mapping[str, str]) -> list[str]:
    """Positions made of the axis that are inside of the extent."""
    least = extent.least
    if not axis.size:
        if axis.low >= 0 and axis.high < least:
            room = least - 1 - axis.high
            return [shifted(axis.text, by) for by in range(-axis.low, room + 1) if abs(by) < 3]
        return (
            [f"{axis.text} + {-axis.low}"] if 0 <= axis.high - axis.low < least and axis.low else []
        )
    found: list[str] = []
    if extent.size == axis.size and extent.factor == 1:
        span = range(-axis.low, extent.more + axis.top + 1)
        found += [shifted(axis.text, by) for by in span if abs(by) <= 3] * 3
        back = range(-axis.top, extent.more + axis.low + 1)
        found += [
            shifted(f"{axis.size} - 1 - {_operand(axis.text)}", by) for by in back if abs(by) < 2
        ][:1]
        if axis.low >= 0 and extent.more >= 0 and axis.top >= 0 and draw.chance(30):
            found.append(f"{_operand(axis.text)} / 2")
    if extent.size == axis.size and extent.factor == 2:
        span = range(-2 * axis.low, extent.more + 1 + 2 * axis.top + 1)
        found += [shifted(f"2 * {_operand(axis.text)}", by) for by in span if abs(by) <= 2]
    if axis.low >= 0 and not extent.size and extent.more > 1 and draw.chance(40):
        found.append(f"{_operand(axis.text)} % {extent.more}")
    return found


def guarded(draw: Draw, extent: Extent, axis: Axis) -> tuple[str, str] | None:
    """A test and a position that is inside where it holds; for axes that are not below zero."""
    if axis.low < 0 or not axis.simple:
        return None
    by = draw.integer(1, 3)
    if extent.size == axis.size and axis.size and draw.chance(50) and axis.top + extent.more >= 0:
        test = draw.choose(
            (f"{axis.text} >= {by}", f"{axis.text} > {by - 1}", f"!({axis.text} < {by})")
        )
        return test, f"{axis.text} - {by}"
    test = draw.choose(("{a} + {by} < {e}", "{e} > {a} + {by}"))
    if extent.more < 0:
        return None
    return test.format(a=axis.text, by=by, e=extent), f"{axis.text} + {by}"


def clamped(draw: Draw, extent: Extent, axis: Axis) -> str | None:
    """A position at the border where the shifted one would be outside."""
    if (
        axis.low < 0
        or not axis.simple
        or extent.size != axis.size
        or not axis.size
        or extent.factor != 1
    ):
        return None
    by = draw.integer(1, 2)
    if axis.top + extent.more >= 0 and draw.chance(50):
        return f"{axis.text} < {by} ? 0 : {axis.text} - {by}"
    last = shifted(axis.size, extent.more - 1)
    if axis.top < 0 or extent.more < 0:
        return None
    return f"{axis.text} + {by} > {last} ? {last} : {axis.text} + {by}"


@dataclass
class Loop:
    """A loop's header and its axis; ``declares`` is what has to be declared before."""

    header: str
    axis: Axis
    iterator: str
    before: list[str] = field(default_factory=list[str])


def upwards(draw: Draw, name: str, key: str, declared: str, axis: Axis, size_key: str) -> Loop:
    """``for (int i = low; i < n - top; i++)`` in one of the ways to say it."""
    low, step = axis.low, draw.choose((1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7))
    start = f"{declared}{name} = {low}"
    if not axis.size:
        end = axis.high + 1
        tests = [f"{name} < {end}", f"{name} <= {end - 1}", f"{end} > {name}"]
        tests += [f"{name} != {end}"] * (step == 1 and low <= end)
    else:
        ends = _ends(axis, key, size_key)
        tests = [f"{name} < {end}" for end in ends] + [f"{end} > {name}" for end in ends[:1]]
        if axis.top > 0:
            tests.append(f"{name} + {axis.top} < {axis.size}")
        if axis.top == 0:
            tests.append(f"{name} <= {axis.size} - 1")
            tests += [f"{name} != {axis.size}"] * (step == 1 and low in {0, 1})
    steps = (
        (f"{name}++", f"++{name}", f"{name} += 1")
        if step == 1
        else (f"{name} += {step}", f"{name} = {name} + {step}")
    )
    return Loop(f"for ({start}; {draw.choose(tests)}; {draw.choose(steps)})", axis, name)


def _ends(axis: Axis, key: str, size_key: str) -> list[str]:
    """The end as a difference, where it cannot wrap."""
    signed = TYPES[size_key].signed or TYPES[size_key].bits < 32
    wide = TYPES[key].signed or TYPES[key].bits < 32
    if axis.top <= 0 or (signed and wide):
        return [shifted(axis.size, -axis.top)]
    return [f"(int){axis.size} - {axis.top}"] if wide else []


def downwards(draw: Draw, name: str, key: str, declared: str, axis: Axis, size_key: str) -> Loop:
    """The same from the end."""
    step = draw.choose((1, 1, 1, 1, 2, 3, 4, 5, 6, 7))
    last = str(axis.high) if not axis.size else shifted(axis.size, -1 - axis.top)
    if axis.size and not TYPES[size_key].signed and axis.top > 0:
        last = f"(int){axis.size} - {axis.top + 1}"
    if TYPES[key].signed:
        tests = [f"{name} >= {axis.low}", f"{name} > {axis.low - 1}", f"{axis.low} <= {name}"]
        steps = (
            (f"{name}--", f"--{name}", f"{name} -= 1")
            if step == 1
            else (f"{name} -= {step}", f"{name} = {name} - {step}")
        )
        header = f"for ({declared}{name} = {last}; {draw.choose(tests)}; {draw.choose(steps)})"
        return Loop(header, axis, name)
    # an unsigned one tests before it steps, or counts one more
    first = str(axis.high + 1) if not axis.size else axis.size
    axis = replace(axis, top=0)
    if draw.chance(50):
        return Loop(f"for ({declared}{name} = {first}; {name}-- > {axis.low};)", axis, name)
    test = draw.choose((f"{name} > {axis.low}", f"{name} >= {axis.low + 1}"))
    moved = replace(axis, text=f"{name} - 1", simple=False)
    return Loop(f"for ({declared}{name} = {first}; {test}; {name}--)", moved, name)
