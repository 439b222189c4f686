"""Aligned loads: neighbours along a vector loop come from whole vectors, which fill cache lines.

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

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import (
    AddressOf,
    Binary,
    Call,
    Const,
    Expr,
    Index,
    Symbol,
    Unary,
    Var,
    Vector,
    VectorAt,
    number,
    number_of,
    plus,
)
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    For,
    If,
    Local,
    Sequential,
    Simd,
    plain,
    with_loops,
)
from polyopt.codegen.ast.subscripts import moves_by, with_offset
from polyopt.codegen.ast.visit import base_of, subscripts_of, substitute, walk
from polyopt.codegen.passes.strip_mine import past_of
from polyopt.ir.types import F32, F64, I64, ScalarType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: rows of fewer vectors have more of a start and an end than of a middle
LEAST_VECTORS = 4
#: arithmetic that vectors have as numbers do
_ARITHMETIC = frozenset("+-*/")


def aligned_loads(block: Block) -> Block:
    """The block with such loops in whole vectors."""
    return with_loops(block, _in_vectors)


def _in_vectors(loop: For) -> Block | None:
    """The loop with its middle in whole vectors; ``None`` where it is not of that form."""
    kind, past = loop.kind, past_of(loop)
    if not isinstance(kind, Simd) or not kind.lanes or kind.width or kind.sums:
        return None
    if loop.step != 1 or past is None:
        return None
    assigns = _with_locals(loop.body)
    wide = _vectors(assigns, loop, kind.lanes) if assigns else None
    if not assigns or wide is None:
        return None
    x = loop.iterator
    start, first = _held(f"{x.hint}_start", loop.start)
    end, last = _held(f"{x.hint}_end", past)
    condition = Binary("<", Var(x), end)
    whole = replace(loop, start=start, condition=condition, body=Block(assigns),
                    kind=replace(kind, lanes=0))  # fmt: skip
    few = Binary("<", Binary("-", end, start), number(LEAST_VECTORS * kind.lanes))
    long = _parts(whole, end, wide, assigns[0].target)
    return Block((*first, *last, If(few, Block((whole,)), long)), scoped=True)


def _with_locals(block: Block) -> tuple[Assign, ...]:
    """What a body assigns to elements, with the scalars that it sets once before as locals; nothing
    where it does more."""
    scalars = {b.symbol for b in block.buffers if b.is_scalar and not b.is_allocated}
    assigns = plain(replace(block, buffers=()))
    if assigns is None or len(scalars) < len(block.buffers):
        return ()
    result, waiting, known = list[Assign](), list[Local](), set[Symbol]()
    for assign in assigns:
        if assign.buffer not in scalars:
            result.append(replace(assign, locals=(*waiting, *assign.locals)))
            waiting = []
            continue
        if assign.buffer in known:
            return ()
        known.add(assign.buffer)
        waiting += [*assign.locals, Local(assign.buffer, assign.value)]
    return () if waiting else tuple(result)


def _held(hint: str, value: Expr) -> tuple[Expr, tuple[Assign, ...]]:
    """A short expression for a bound, and what declares it."""
    if isinstance(value, Var) or (number_of(value) or -1) >= 0 or number_of(value) == 0:
        return value, ()
    held = Var(Symbol(hint, I64))
    return held, (_constant(held, value),)


def _constant(variable: Var, value: Expr) -> Assign:
    return Assign(variable, value, declares=True, constant=True)


@dataclass(frozen=True)
class _Wide:
    """What so many iterations at once assign."""

    vector: Vector
    #: where vectors of what is stored fill lines
    middle: tuple[Assign, ...]
    #: wherever vectors start; nothing where no iteration may run twice
    ends: tuple[Assign, ...]


def _parts(whole: For, end: Expr, wide: _Wide, target: Expr) -> Block:
    """Up to the first cache line of what is stored, vectors that fill lines, and what is left.

    The first and the last part are too short for the marks of vector loops.
    """
    x, start, lanes = whole.iterator, whole.start, wide.vector.lanes
    line, past = (Var(Symbol(f"{x.hint}_{name}", I64)) for name in ("line", "past"))
    first = plus(start, lanes - 1)
    there = AddressOf(substitute(target, {Var(x): first}))
    ahead = Call(f"ahead_{wide.vector.c_name}", (there,), I64)
    rest = Binary("-", plus(end, 1 - lanes), line)
    bounds = (
        _constant(line, Binary("+", first, ahead)),
        _constant(past, Binary("+", line, _times(lanes, rest))),
    )
    middle = For(x, line, Binary("<", Var(x), past), lanes, Block(wide.middle))
    if not wide.ends:
        head = replace(whole, condition=Binary("<", Var(x), line), kind=Sequential())
        tail = replace(whole, start=past, kind=Sequential())
        return Block((*bounds, head, middle, tail))
    at_start, at_line, at_past, at_end = (
        Block((_constant(Var(x), place), *wide.ends), scoped=True)
        for place in (start, plus(line, -lanes), past, plus(end, -lanes))
    )
    more = If(Binary(">", line, plus(start, lanes)), at_line)
    left = If(Binary("<", past, plus(end, -lanes)), at_past)
    return Block((*bounds, at_start, more, middle, left, at_end))


def _times(lanes: int, count: Expr) -> Expr:
    """The largest multiple of so many lanes that is no more than a count."""
    return Binary("*", Binary("/", count, number(lanes)), number(lanes))


@dataclass(frozen=True)
class _Row:
    """An element of a row along the loop: the row, and how far the element is moved in it."""

    key: tuple[Symbol | Expr | None, ...]
    offset: int


def _vectors(assigns: Sequence[Assign], loop: For, lanes: int) -> _Wide | None:
    """The assignments of so many iterations at once; ``None`` where one has no such form."""
    type_, x = assigns[0].type, loop.iterator
    aim = _row(assigns[0].target, x)
    if type_ not in {F32, F64} or aim is None:
        return None
    assert isinstance(type_, ScalarType)
    if any(a.type != type_ or _row(a.target, x) is None for a in assigns):
        return None
    rows: dict[Expr, _Row | None] = {}
    for element in (e for a in assigns for e in a.loads):
        rows[element] = _row(element, x)
        if element.type != type_ or (rows[element] is None and x in element.symbols):
            return None
    vector = Vector(type_, lanes)
    near = {element for element, row in rows.items() if row}
    middle = _Vectorizer(vector, _whole_vectors(rows, aim.offset, vector), near).all(assigns)
    if not middle:
        return None
    anywhere = {e: VectorAt(vector, e) if e in near else e for e in rows}
    ends = _Vectorizer(vector, anywhere, near).all(assigns) if _may_repeat(assigns) else None
    return _Wide(vector, middle, ends or ())


def _may_repeat(assigns: Sequence[Assign]) -> bool:
    """Whether an iteration that runs twice stores what it stored: nothing reads what one writes."""
    written = {base_of(a.target) for a in assigns}
    read = {s for a in assigns for part in a.read for s in part.symbols}
    return written.isdisjoint(read)


def _row(element: Expr, iterator: Symbol) -> _Row | None:
    """The row that an element moves along by one each iteration; ``None`` where it does not."""
    subscripts = subscripts_of(element)
    if not subscripts or any(iterator in s.symbols for s in subscripts[:-1]):
        return None
    *rows, last = subscripts
    if moves_by(last, iterator) != 1:
        return None
    stem, offset = with_offset(last)
    return _Row((base_of(element), *rows, stem), offset)


def _whole_vectors(rows: Mapping[Expr, _Row | None], aim: int, vector: Vector) -> dict[Expr, Expr]:
    """What stands for each load: vectors where lines begin if stores do at ``aim``, and what is
    put together from them. Nothing where no two loads are neighbours."""
    near = [row for row in rows.values() if row is not None]
    offsets = {row.key: {other.offset for other in near if other.key == row.key} for row in near}
    if not any(len(found) > 1 for found in offsets.values()):
        return {}
    result: dict[Expr, Expr] = {}
    for element, row in rows.items():
        known = offsets[row.key] if row else {0}
        away = row.offset - min(max(aim, min(known)), max(known)) if row else 0
        if abs(away) >= vector.lanes:
            return {}
        result[element] = _vector(element, away, vector) if row else element
    return result


def _vector(element: Expr, away: int, vector: Vector) -> Expr:
    """The vector at an element that is so far away from where whole vectors begin."""
    if not away:
        return VectorAt(vector, element)
    assert isinstance(element, Index)
    *rows, last = element.subscripts
    whole = Index(element.array, (*rows, plus(last, -away)))
    side = "behind" if away > 0 else "before"
    return Call(f"{side}{abs(away)}_{vector.c_name}", (AddressOf(whole),), vector)


@dataclass(frozen=True)
class _Vectorizer:
    """Vectorises the loads along a loop: whole vectors in place of their elements."""

    vector: Vector
    #: what stands for each load
    known: Mapping[Expr, Expr]
    #: loads that are vectors
    near: set[Expr]

    def all(self, assigns: Sequence[Assign]) -> tuple[Assign, ...] | None:
        """The assignments, if all that they compute is arithmetic on vectors."""
        result: list[Assign] = []
        locals_: dict[Expr, Expr] = {}
        for assign in assigns:
            done = self._assign(assign, locals_) if self.known else None
            if done is None:
                return None
            result += done
        return tuple(result)

    def _assign(self, assign: Assign, locals_: dict[Expr, Expr]) -> list[Assign] | None:
        """An assignment after the locals that it reads; ``None`` where it has no such form."""
        made: list[Assign] = []
        for local in assign.locals:
            value = self._value(local.value, locals_)
            if value is None or local.symbol.type != self.vector.element:
                return None
            kind = self.vector if self._is_wide(local.value, locals_) else local.symbol.type
            variable = Var(Symbol(local.symbol.hint, kind))
            made.append(_constant(variable, value))
            locals_[Var(local.symbol)] = variable
        value = self._value(assign.value, locals_)
        if value is None or not self._is_wide(assign.value, locals_):
            return None
        return [*made, Assign(VectorAt(self.vector, assign.target), value)]

    def _is_wide(self, value: Expr, locals_: Mapping[Expr, Expr]) -> bool:
        """Whether one of its operands is a vector."""
        return any(
            node in self.near or (node in locals_ and locals_[node].type == self.vector)
            for node in walk(value)
        )

    def _value(self, value: Expr, locals_: Mapping[Expr, Expr]) -> Expr | None:
        """A value with vectors for its operands; ``None`` where it is more than arithmetic."""
        if value in self.known or value in locals_:
            return self.known.get(value) or locals_[value]
        match value:
            case Const(kind=kind, value=literal):
                finite = literal - literal == 0
                return value if kind == self.vector.element and finite else None
            case Var(symbol=symbol):  # the loop assigns none
                return value if symbol.type == self.vector.element else None
            case Unary(sign="-") | Binary():
                if isinstance(value, Binary) and value.sign not in _ARITHMETIC:
                    return None
                parts = [self._value(child, locals_) for child in value.children]
                operands = tuple(part for part in parts if part is not None)
                return value.with_children(operands) if len(operands) == len(parts) else None
            case _:
                return None
