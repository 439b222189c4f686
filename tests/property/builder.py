"""What the templates of random programs share: arrays, loops, reads that stay in bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from .values import (
    Lin,
    Value,
    absolute,
    arith,
    cast,
    choice,
    converted,
    extreme,
    half,
    is_float,
    literal,
    promoted,
    quotient,
    tamed,
    type_range,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")

#: No loop runs more often than this at the sizes that programs come with.
MOST_TRIPS = 24

_LONG = 60

#: Lines of one statement or loop.
Item = list[str]


class Choices(Protocol):
    """Where decisions come from: a seeded generator, or hypothesis."""

    def integer(self, low: int, high: int) -> int:
        """A number in ``low..high``; the simplest is ``low``."""
        ...


@dataclass
class Cells:
    """An array of the program under construction, with bounds of its values."""

    name: str
    type: str
    dims: tuple[Lin, ...]
    low: int
    high: int
    given: bool = False
    written: bool = False
    read: bool = False


@dataclass(frozen=True)
class Form:
    """A linear form over iterators, and the range it takes: ``low <= lin <= high``."""

    lin: Lin
    low: Lin
    high: Lin

    def shifted(self, by: int) -> Form:
        """The form plus a constant."""
        return Form(self.lin + by, self.low + by, self.high + by)

    def plus(self, other: Form) -> Form:
        """The sum of two forms."""
        return Form(self.lin + other.lin, self.low + other.low, self.high + other.high)


@dataclass(frozen=True)
class Axis:
    """A loop: its header in C, its iterator, and the position it stands for."""

    header: str
    iterator: str
    form: Form


def indented(lines: Iterable[str]) -> Item:
    """Lines moved in by one level."""
    return ["    " + line for line in lines]


def block(header: str, items: Sequence[Item], *, braces: bool = False) -> Item:
    """A loop or condition around items; braces where they are needed."""
    lines = indented(line for item in items for line in item)
    if len(items) == 1 and not braces:
        return [header, *lines]
    return [header + " {", *lines, "}"]


def nest(axes: Sequence[Axis], items: Sequence[Item]) -> Item:
    """Items inside all loops, the first axis outermost."""
    for axis in reversed(axes):
        items = [block(axis.header, items)]
    (item,) = items
    return item


@dataclass
class Builder:
    """The state of a program under construction."""

    draw: Choices
    types: Sequence[str]
    params: Sequence[str]
    borders: bool = True
    least: dict[str, int] = field(default_factory=dict[str, int])
    arrays: list[Cells] = field(default_factory=list[Cells])
    scalars: list[Value] = field(default_factory=list[Value])
    body: list[Item] = field(default_factory=list[Item])
    statements: int = 0

    # Decisions.

    def chance(self, percent: int) -> bool:
        """True in so many cases of a hundred; false is the simpler one."""
        return self.draw.integer(0, 99) >= 100 - percent

    def choose(self, options: Sequence[T]) -> T:
        """One of the options; the first is the simplest."""
        return options[self.draw.integer(0, len(options) - 1)]

    # Arrays.

    def extent(self) -> Lin:
        """A fresh extent: a size, or twice one, plus a little; or a constant."""
        if not self.params or self.chance(10):
            return Lin({}, self.choose((6, 5, 8)))
        factor = 2 if self.chance(10) else 1
        return Lin.of(self.choose(self.params), factor) + self.draw.integer(0, 5)

    def input(self, like: Cells | None = None) -> Cells:
        """A new argument that the caller fills, perhaps of another array's type and shape."""
        rank = self.choose((2, 2, 2, 1, 1, 3))
        type_ = like.type if like else self.choose(self.types)
        low, high = INPUT_RANGES[type_]
        dims = like.dims if like else tuple(self.extent() for _ in range(rank))
        name = f"in{sum(a.given for a in self.arrays)}"
        made = Cells(name, type_, dims, low, high, given=True)
        self.arrays.append(made)
        self._assume(dims)
        return made

    def made(self, dims: Sequence[Lin], type_: str | None = None, name: str = "") -> Cells:
        """A new array that the program writes."""
        self._assume(dims)
        number = sum(not a.given for a in self.arrays)
        cells = Cells(name or f"a{number}", type_ or self.choose(self.types), tuple(dims), 0, 0)
        self.arrays.append(cells)
        return cells

    def _assume(self, dims: Sequence[Lin]) -> None:
        """Extents are at least 1: all that the program may assume of its sizes."""
        for dim in dims:
            for param, factor in dim.terms.items():
                least = -((dim.constant - 1) // factor)
                self.least[param] = max(self.least.get(param, least), least)

    def source(self) -> Cells:
        """An array to read: often the newest."""
        written = [a for a in self.arrays if a.written]
        if written and not self.chance(30):
            return written[-1]
        return self.choose([a for a in self.arrays if a.given or a.written])

    def shrunk(self, dims: Sequence[Lin]) -> list[Lin]:
        """Extents for a consumer of an array with these extents."""
        return [self._shrunk(dim) for dim in dims]

    def _shrunk(self, dim: Lin) -> Lin:
        if any(f > 1 for f in dim.terms.values()) and self.chance(60):
            (param,) = dim.terms
            return Lin.of(param) + (dim.constant + 1) // 2
        by = self.choose((0, 1, 2, 0))
        least = -2 if dim.terms else 3
        return dim - by if dim.constant - by >= least else dim

    # Loops.

    def axes(self, dims: Sequence[Lin], names: str = "ijkl") -> list[Axis]:
        """One loop over each extent, in some direction."""
        return [self.axis(n, Lin(), dim - 1) for n, dim in zip(names, dims, strict=False)]

    def axis(self, name: str, low: Lin, high: Lin) -> Axis:
        """A loop over ``low..high``: upwards, downwards, or with another origin."""
        style = self.choose(("up", "up", "up", "up", "down", "offset"))
        here = Lin.of(name)
        if style == "down":
            header = f"for (int {name} = {high}; {name} >= {low}; {name}--)"
            return Axis(header, name, Form(here, low, high))
        by = self.choose((1, -1, 2, -3)) if style == "offset" else 0
        header = f"for (int {name} = {low + by}; {name} < {high + 1 + by}; {name}++)"
        return Axis(header, name, Form(here - by, low, high))

    # Reads.

    def valid(self, form: Form, extent: Lin) -> bool:
        """Whether the form stays in ``0 .. extent - 1`` for all sizes."""
        return form.low.natural(self.least) and (extent - 1 - form.high).natural(self.least)

    def read(self, cells: Cells, align: Sequence[Form], others: Sequence[Form] = ()) -> Value:
        """An element: subscript d is made of ``align[d]``, or of one of ``others``."""
        cells.read = True
        guards: list[str] = []
        subscripts = [
            self._subscript(extent, align[d] if d < len(align) else None, others, guards)
            for d, extent in enumerate(cells.dims)
        ]
        value = self.load(cells, subscripts)
        if not guards:
            return value
        zero = literal(value.type, 0)
        return choice(" && ".join(guards), value, zero) or value

    @staticmethod
    def load(cells: Cells, subscripts: Sequence[str | Lin]) -> Value:
        """The element at these subscripts."""
        text = cells.name + "".join(f"[{s}]" for s in subscripts)
        return Value(text, cells.type, cells.low, cells.high)

    def _subscript(
        self, extent: Lin, main: Form | None, others: Sequence[Form], guards: list[str]
    ) -> str:
        if main is not None and not self.chance(12):
            if self.borders and self.chance(8):
                return self._border(extent, main, guards)
            found = self._candidates(extent, main)
            if found:
                return self.choose(found)
        found = [c for form in others for c in self._candidates(extent, form)]
        return self.choose([*found, "0", str(extent - 1)])

    def _candidates(self, extent: Lin, main: Form) -> list[str]:
        """Subscripts in bounds: shifted, strided, halved, and mirrored."""
        shifts = [main.shifted(by) for by in (0, 1, 2, -1, 0, 1)]
        found = [str(form.lin) for form in shifts if self.valid(form, extent)]
        for by in (0, 1):
            double = Form(main.lin * 2 + by, main.low * 2 + by, main.high * 2 + by)
            if self.valid(double, extent):
                found += [str(double.lin)] * (2 if extent.terms else 1)
        if not found:
            room = (extent * 2 - 1 - main.high).natural(self.least)
            return [f"({main.lin}) / 2"] if room and main.low.natural(self.least) else []
        mirrored = Form(extent - 1 - main.lin, extent - 1 - main.high, extent - 1 - main.low)
        if self.valid(mirrored, extent) and self.chance(10):
            found.append(str(mirrored.lin))
        return found

    def _border(self, extent: Lin, main: Form, guards: list[str]) -> str:
        """A subscript that may leave the array: guarded, or clamped to the edge."""
        form = main.shifted(self.choose((-1, 1, -2)))
        below = not form.low.natural(self.least)
        above = not (extent - 1 - form.high).natural(self.least)
        if self.chance(50):
            text = str(form.lin)
            text = f"{text} < 0 ? 0 : {text}" if below else text
            inner = f"({text})" if below else text
            return f"{form.lin} > {extent - 1} ? {extent - 1} : {inner}" if above else text
        guards += [f"0 <= {form.lin}"] if below else []
        guards += [f"{form.lin} < {extent}"] if above else []
        return str(form.lin)

    # Values.

    def expression(self, terms: Sequence[Value], axes: Sequence[Axis]) -> Value:
        """Terms, and perhaps a constant or the position, joined by random operations."""
        values = [self._decorated(term) for term in terms]
        if self.chance(15):
            lin = sum((a.form.lin * self.choose((1, 2, -1)) for a in axes), Lin({}, 1))
            values.append(Value(str(lin), "i32", -20 * MOST_TRIPS, 20 * MOST_TRIPS, 6))
        if self.scalars and self.chance(20):
            values.append(self.choose(self.scalars))
        total = values[0]
        for value in values[1:]:
            total = self.joined(total, value)
        return total

    def joined(self, a: Value, b: Value) -> Value:
        """The two joined by an operation that is exact."""
        op = self.choose(("+", "+", "-", "+", "max", "min", "*", "select"))
        if op in {"max", "min", "select"} and (
            len(a.text) + len(b.text) > _LONG or a.text == b.text
        ):
            op = "+"  # these repeat their operands
        if op in {"max", "min"}:
            made = extreme(op, a, b)
        elif op == "select":
            made = choice(f"{a.at(5)} < {b.at(5)}", a, literal("i32", 3))
            made = made and arith("+", made, b)
        else:
            made = arith(op, a, b)
        return made or arith("+", tamed(a), tamed(b)) or a

    def _decorated(self, value: Value) -> Value:
        kind = self.choose((None, None, None, None, "scale", "half", "abs", "divide", "rest"))
        if kind == "scale":
            factor = literal("i32", self.choose((2, 3, -2)))
            return arith("*", factor, value) or value
        if kind == "half":
            return half(value)
        if kind == "abs":
            return absolute(value)
        if kind in {"divide", "rest"} and not is_float(value.type):
            return quotient(value, "/" if kind == "divide" else "%", self.choose((3, 5, 2)))
        return value

    def fitted(self, value: Value, type_: str) -> Value:
        """The value such that storing it in that type is exact or wraps."""
        if is_float(value.type) and not is_float(type_):
            value = tamed(value)
            value = absolute(value) if type_[0] == "u" else value
        stored = converted(value, type_) or converted(tamed(value), type_)
        if stored is None:
            message = f"cannot store {value} in {type_}"
            raise AssertionError(message)
        if self.chance(15) and promoted(value.type) != type_:
            return cast(stored)
        return stored

    # Statements.

    def assign(self, cells: Cells, subscripts: Sequence[str | Lin], value: Value) -> Item:
        """``cells[subscripts] = value;`` and what that means for the array's range."""
        stored = self.fitted(value, cells.type)
        self.widen(cells, stored.low, stored.high)
        self.statements += 1
        return [f"{self.load(cells, subscripts).text} = {stored.text};"]

    def accumulate(
        self, cells: Cells, subscripts: Sequence[str | Lin], term: Value, trips: int
    ) -> Item:
        """``cells[subscripts] op= term;`` run at most ``trips`` times for one element."""
        self.statements += 1
        target = self.load(cells, subscripts)
        kind = self.choose(("+=", "+=", "-=", "max"))
        if kind == "max":
            term = self.fitted(term, cells.type)
            found = extreme("max", target, term) or term
            self.widen(cells, term.low, term.high)
            return [f"{target.text} = {found.text};"]
        if is_float(term.type) and not is_float(cells.type):
            # without a cast the sum would be a float, and no whole type need take what it is
            term = cast(self.fitted(term, cells.type))
        if not self._sums_fit(cells, term, trips):
            term = tamed(term)
            if not self._sums_fit(cells, term, trips):
                return self._bounded(cells, target, term)
        self._widen_sums(cells, term, trips)
        return [f"{target.text} {kind} {term.text};"]

    def _bounded(self, cells: Cells, target: Value, term: Value) -> Item:
        total = self.fitted(arith("+", tamed(target), term) or term, cells.type)
        self.widen(cells, total.low, total.high)
        return [f"{target.text} = {total.text};"]

    def _sums_fit(self, cells: Cells, term: Value, trips: int) -> bool:
        """Whether adding or subtracting the term so often neither overflows nor rounds."""
        reach = trips * max(abs(term.low), abs(term.high))
        least, most = type_range(cells.type)
        low, high = cells.low - reach, cells.high + reach
        wraps = cells.type not in {"i32", "i64", "f32", "f64"}
        if wraps:
            low, high = least, most
        if not (least <= low and high <= most):
            return False
        now = Value(cells.name, cells.type, low, high)
        steps = [arith(op, now, term) for op in "+-"]
        return all(
            step is not None
            and converted(step, cells.type) is not None
            and (wraps or step.type[0] != "u")
            for step in steps
        )

    def _widen_sums(self, cells: Cells, term: Value, trips: int) -> None:
        reach = trips * max(abs(term.low), abs(term.high))
        low, high = cells.low - reach, cells.high + reach
        least, most = type_range(cells.type)
        if not (least <= low and high <= most):
            low, high = least, most
        self.widen(cells, low, high)

    @staticmethod
    def widen(cells: Cells, low: int, high: int) -> None:
        """Notes that the array now also holds values in ``low..high``."""
        fresh = not cells.written and not cells.given
        cells.low = low if fresh else min(cells.low, low)
        cells.high = high if fresh else max(cells.high, high)
        cells.written = True


INPUT_RANGES = {
    "u8": (0, 255), "u16": (0, 255), "u32": (0, 40), "u64": (0, 40),
    "i8": (-9, 9), "i16": (-9, 9), "i32": (-9, 9), "i64": (-9, 9),
    "f16": (-4, 4), "f32": (-4, 4), "f64": (-4, 4),
}  # fmt: skip
