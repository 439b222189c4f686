"""Neighbours along a vector loop come from whole vectors, which begin where cache lines do.

rewrite: ``for (x = 1; x < n; x++) b[x] = a[x - 1] + a[x];`` ->

    if (n - 1 < 64) {
        for (x = 1; x < n; x++) b[x] = a[x - 1] + a[x];  // in vectors, as before
    } else {
        const int64_t x_line = 1 + 15 + ahead_f32x16(&b[1 + 15]);
        const int64_t x_past = x_line + (n - 15 - x_line) / 16 * 16;
        { x = 1; E }
        if (x_line > 1 + 16) { x = x_line - 16; E }
        for (x = x_line; x < x_past; x += 16)
            *(f32x16_at *)&b[x] = before1_f32x16(&a[x]) + *(f32x16_at *)&a[x];
        if (x_past < n - 16) { x = x_past; E }
        { x = n - 16; E }
    }

with ``*(f32x16_at *)&b[x] = *(f32x16_at *)&a[x - 1] + *(f32x16_at *)&a[x];`` for ``E``.

Where a vector is as long as a cache line, each load of a neighbour lies across two lines and takes
two accesses, and so does each store of a row that begins anywhere. From ``x_line`` on stores fill
lines, and lanes of two whole vectors, of which the compiler keeps one for the next iteration, are
put together instead. What is loaded more than is needed lies between what the loop loads anyway.

Up to ``x_line`` and from ``x_past`` on lie fewer than two vectors' elements. One or two vectors are
enough for them that overlap others, where the loop reads nothing that it writes: what runs twice
then stores the same again. Elsewhere both ends run element by element.

*Requires* a vector loop of independent iterations that only assigns sums and products of numbers
of one type, ``float`` or ``double``, and loads neighbours in a row.

*Does not handle* choices, functions and conversions, and C among other code.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.chelpers import NEAR
from polyopt.codegen.loops import (
    Assign,
    Block,
    For,
    If,
    Vector,
    loops_in,
    types_in,
    with_loops,
)
from polyopt.codegen.names import names_in, renamed
from polyopt.codegen.strips import named, plain
from polyopt.codegen.subscripts import apart, moved, moving, parts
from polyopt.ir.types import F32, F64, I64, ScalarType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

#: rows of fewer vectors have more of a start and an end than of a middle
LEAST_VECTORS = 4
#: what may stand between operands: arithmetic that vectors have as numbers do
_ARITHMETIC = re.compile(r"[-+*/() ]*")
#: numbers of each type, which no conversion to the type of a vector has to shorten
_NUMBERS = {
    F32: re.compile(r"\d[\w.]*(?:(?<=e)[-+]\d+)?f"),
    F64: re.compile(r"\d+\.\d*(?:e[-+]?\d+)?"),
}
_WORD = r"[A-Za-z_]\w*|\d[\w.]*(?:(?<=e)[-+]\d+f?)?"


def neighbours(block: Block, types: Mapping[str, ScalarType], taken: set[str]) -> Block:
    """The block with such loops in whole vectors.

    ``types`` are those of arrays and buffers; ``taken`` are names that mean something else, and
    those of the new variables are added.
    """
    taken |= {loop.iterator for loop in loops_in(block)}
    known = types_in(block, types)
    return with_loops(block, lambda loop: _in_vectors(loop, known, taken))


def _in_vectors(loop: For, types: Mapping[str, ScalarType], taken: set[str]) -> Block | None:
    """The loop with its middle in whole vectors; ``None`` where it is not of that form."""
    x = loop.iterator
    bound = re.fullmatch(rf"{x} (<=?) (.*)", loop.condition)
    if loop.mark != "vector" or not loop.lanes or loop.width or loop.step != 1 or loop.sums:
        return None
    assigns = plain(loop.body)
    wide = _vectors(assigns, loop, types) if assigns else None
    if bound is None or not assigns or wide is None:
        return None
    target = assigns[0].target
    past_last = bound[2] if bound[1] == "<" else moved(bound[2], 1)
    start, first = _named(f"{x}_start", loop.start, taken)
    end, last = _named(f"{x}_end", past_last, taken)
    whole = replace(loop, start=start, condition=f"{x} < {end}", lanes=0)
    short = If(f"{end} - {start} < {LEAST_VECTORS * loop.lanes}", Block((whole,)))
    long = _parts(whole, wide, target, taken)
    return Block((*first, *last, replace(short, other=long)), scoped=True)


def _named(name: str, value: str, taken: set[str]) -> tuple[str, tuple[Assign, ...]]:
    """A short text for a bound, and what declares it."""
    if value.isidentifier() or value.isdigit():
        return value, ()
    name = named(name, taken)
    return name, (_constant(name, value),)


def _constant(name: str, value: str) -> Assign:
    return Assign(name, value, type=I64, declares=True, constant=True)


@dataclass(frozen=True)
class _Wide:
    """What so many iterations at once assign."""

    vector: Vector
    #: where vectors of what is stored fill lines
    middle: tuple[Assign, ...]
    #: wherever vectors start; nothing where no iteration may run twice
    ends: tuple[Assign, ...]


def _parts(whole: For, wide: _Wide, target: str, taken: set[str]) -> Block:
    """Up to the first cache line of what is stored, vectors that fill lines, and what is left.

    The first and the last part are too short for the marks of vector loops.
    """
    x, start, lanes = whole.iterator, whole.start, wide.vector.lanes
    end = whole.condition.partition(" < ")[2]
    line, past = (named(f"{x}_{name}", taken) for name in ("line", "past"))
    first = moved(start, lanes - 1)
    ahead = f"ahead_{wide.vector.c_name}(&{renamed(target, {x: first})})"
    bounds = (
        _constant(line, f"{first} + {ahead}"),
        _constant(past, f"{line} + ({end} - {lanes - 1} - {line}) / {lanes} * {lanes}"),
    )
    middle = For(x, line, f"{x} < {past}", lanes, Block(wide.middle))
    if not wide.ends:
        head = replace(whole, condition=f"{x} < {line}", mark="")
        return Block((*bounds, head, middle, replace(whole, start=past, mark="")))
    at_start, at_line, at_past, at_end = (
        Block((_constant(x, place), *wide.ends), scoped=True)
        for place in (start, f"{line} - {lanes}", past, moved(end, -lanes))
    )
    more = If(f"{line} > {moved(start, lanes)}", at_line)
    rest = If(f"{past} < {moved(end, -lanes)}", at_past)
    return Block((*bounds, at_start, more, middle, rest, at_end))


@dataclass(frozen=True)
class _Row:
    """An element of a row along the loop: the row's name, and how far the element is moved."""

    key: tuple[str, ...]
    offset: int


def _vectors(assigns: Sequence[Assign], loop: For, types: Mapping[str, ScalarType]) -> _Wide | None:
    """The assignments of so many iterations at once; ``None`` where one has no such form."""
    type_, x = assigns[0].type, loop.iterator
    aim = _row(assigns[0].target, x)
    if type_ not in {F32, F64} or aim is None:
        return None
    assert isinstance(type_, ScalarType)
    if any(a.type != type_ or _row(a.target, x) is None for a in assigns):
        return None
    rows: dict[str, _Row | None] = {}
    for buffer, text in (load for a in assigns for load in a.loads):
        rows[text] = _row(text, x)
        if types.get(buffer) != type_ or (rows[text] is None and x in names_in(text)):
            return None
    vector = Vector(type_, loop.lanes)
    near = {text for text, row in rows.items() if row}
    middle = _Wider(vector, _texts(rows, aim.offset, vector), {*near}).all(assigns)
    if not middle:
        return None
    anywhere = {text: vector.at(text) if text in near else text for text in rows}
    ends = _Wider(vector, anywhere, near).all(assigns) if _may_repeat(assigns) else None
    return _Wide(vector, middle, ends or ())


def _may_repeat(assigns: Sequence[Assign]) -> bool:
    """Whether an iteration that runs twice stores what it stored: nothing reads what one writes."""
    written = {parts(a.target)[0] for a in assigns}
    places = {name for a in assigns for s in parts(a.target)[1] for name in names_in(s)}
    values = {name for a in assigns for value in a.values for name in names_in(value)}
    return written.isdisjoint(places | values)


def _row(text: str, iterator: str) -> _Row | None:
    """The row that an element moves along by one each iteration; ``None`` where it does not."""
    name, subscripts = parts(text)
    if not subscripts or any(iterator in names_in(s) for s in subscripts[:-1]):
        return None
    if moving(subscripts[-1], iterator) != 1:
        return None
    stem, offset = apart(subscripts[-1])
    return _Row((name, *subscripts[:-1], stem), offset)


def _texts(rows: Mapping[str, _Row | None], aim: int, vector: Vector) -> dict[str, str]:
    """What stands for each load: vectors where lines begin if stores do at ``aim``, and what is
    put together from them. Nothing where no two loads are neighbours."""
    near = [row for row in rows.values() if row is not None]
    offsets = {row.key: {other.offset for other in near if other.key == row.key} for row in near}
    if not any(len(found) > 1 for found in offsets.values()):
        return {}
    result: dict[str, str] = {}
    for text, row in rows.items():
        known = offsets[row.key] if row else {0}
        away = row.offset - min(max(aim, min(known)), max(known)) if row else 0
        if abs(away) >= vector.lanes:
            return {}
        result[text] = _vector(text, away, vector) if row else text
    return result


def _vector(text: str, away: int, vector: Vector) -> str:
    """The vector at an element that is so far away from where whole vectors begin."""
    if not away:
        return vector.at(text)
    name, subscripts = parts(text)
    subscripts[-1] = moved(subscripts[-1], -away)
    element = name + "".join(f"[{s}]" for s in subscripts)
    side = "behind" if away > 0 else "before"
    return f"{side}{abs(away)}_{vector.c_name}(&{element})"


@dataclass(frozen=True)
class _Wider:
    """Puts vectors in place of what moves along a loop."""

    vector: Vector
    #: what stands for each load
    texts: Mapping[str, str]
    #: loads and, as they are made, locals that are vectors
    wide: set[str]

    def all(self, assigns: Sequence[Assign]) -> tuple[Assign, ...] | None:
        """The assignments, if all that they compute is arithmetic on vectors."""
        result: list[Assign] = []
        for assign in assigns:
            done = self._assign(assign) if self.texts else None
            if done is None:
                return None
            result += done
        return tuple(result)

    def _assign(self, assign: Assign) -> list[Assign] | None:
        """An assignment after the locals that it reads; ``None`` where it has no such form."""
        made: list[Assign] = []
        names: set[str] = set()
        for local in assign.locals:
            text = self._value(local.value, names)
            if text is None or local.type != self.vector.element:
                return None
            kind = self.vector if self._is_wide(local.value) else local.type
            self.wide.update([local.name] if kind is self.vector else [])
            made.append(Assign(local.name, text, type=kind, declares=True, constant=True))
            names.add(local.name)
        text = self._value(assign.value, names)
        if text is None or not self._is_wide(assign.value):
            return None
        target = self.vector.at(assign.target)
        return [*made, replace(assign, target=target, value=text, locals=())]

    def _operands(self, value: str) -> Iterator[re.Match[str]]:
        loads = (rf"{re.escape(t)}(?![\w\[])" for t in sorted(self.texts, key=len, reverse=True))
        return re.finditer("|".join([*loads, _WORD]), value)

    def _is_wide(self, value: str) -> bool:
        return any(found[0] in self.wide for found in self._operands(value))

    def _value(self, value: str, names: set[str]) -> str | None:
        """A value with vectors for its operands; ``None`` where it is more than arithmetic."""
        result, last = "", 0
        for found in self._operands(value):
            between, word = value[last : found.start()], found[0]
            is_known = word in self.texts or word in names
            if not is_known and not _NUMBERS[self.vector.element].fullmatch(word):
                return None
            if not _ARITHMETIC.fullmatch(between):
                return None
            result += between + self.texts.get(word, word)
            last = found.end()
        return result + value[last:] if _ARITHMETIC.fullmatch(value[last:]) else None


# -- helpers ----------------------------------------------------------------------------------

_AHEAD = """\
static inline int64_t ahead_VECTOR(const TYPE *at) {
    return (int64_t)(-(uintptr_t)at % BYTES / sizeof(TYPE));
}
"""
_MOVED = """\
static inline VECTOR NAME(const TYPE *at) {
#if defined __clang__ || __GNUC__ >= 12
    return __builtin_shufflevector(*(const VECTOR_at *)ONE, *(const VECTOR_at *)TWO,
        PLACES);
#else
    return *(const VECTOR_at *)(at SIGN BY);
#endif
}
"""


def near_functions(*texts: str) -> str:
    """Definitions of the helpers that the given C texts call, in a fixed order; may be empty."""
    used = {found.group(1, 2, 3) for text in texts for found in NEAR.finditer(text)}
    order = sorted(used, key=lambda u: (u[2], u[0], int(u[1] or 0)))
    return "".join(_definition(*one) + "\n" for one in order)


def _definition(kind: str, by: str, vector: str) -> str:
    element, lanes = (F32 if vector.startswith("f32") else F64), int(vector.partition("x")[2])
    if kind == "ahead":
        text = _AHEAD.replace("BYTES", str(lanes * element.bytes))
        return text.replace("VECTOR", vector).replace("TYPE", element.c_name)
    before = kind == "before"
    first = lanes - int(by) if before else int(by)
    marks = {
        "VECTOR": vector,
        "NAME": f"{kind}{by}_{vector}",
        "TYPE": element.c_name,
        "ONE": f"(at - {lanes})" if before else "at",
        "TWO": "at" if before else f"(at + {lanes})",
        "PLACES": ", ".join(str(first + k) for k in range(lanes)),
        "SIGN": "-" if before else "+",
        "BY": by,
    }
    text = _MOVED
    for mark, value in marks.items():
        text = re.sub(rf"\b{mark}(?=_at\b|\b)", value, text)
    return text
