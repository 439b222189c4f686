"""Loop distribution of conversions: short vector loops meet no elements narrower than they compute.

rewrite: ``simd for (x = 0; x <= 7; x++) q[x] = (uint8_t)(p[x] * s);`` of bytes and floats ->

    for (x) p_wide[x] = (int32_t)p[x];
    simd for (x) q_wide[x] = (int32_t)(p_wide[x] * s);
    for (x) q[x] = (uint8_t)q_wide[x];

Compilers give all vectors of a loop as many bytes as those of its narrowest elements. Eight bytes
are half of the shortest vector, so that eight floats beside them, a whole one, are computed one by
one, and clamps of them are jumps. Loops of conversions alone are written out, and packed.

*Requires* a vector loop of a constant number of iterations, whose elements of some narrow type of
integers are less than the shortest vector. What is stored narrow is converted from a float or from
an integer of 32 bits; one that is out of range is undefined before, and some value after.

*Does not handle* arithmetic on narrow types, and what is read after the loop wrote it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.codegen.ast.expr import (
    Binary,
    Cast,
    Index,
    Select,
    Symbol,
    Unary,
    Var,
    minus,
    number,
    scalar,
)
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    Buffer,
    For,
    Function,
    Local,
    Sequential,
    Simd,
    unscoped,
    with_loops,
)
from polyopt.codegen.ast.visit import base_of, elements_in, is_element
from polyopt.codegen.passes.strip_mine import span_of
from polyopt.ir.types import BOOL, I32, ScalarType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polyopt.codegen.ast.expr import Expr

    #: tests around an expression, and whether they hold for it
    Under = tuple[tuple[Expr, bool], ...]

#: what compares two values
_TESTS = frozenset({"<", "<=", ">", ">=", "==", "!="})
#: bytes of the shortest vectors of all targets
_SHORTEST = 16


def distribute_conversions(function: Function) -> Function:
    """The function with the conversions of short vector loops in loops of their own."""
    return function.with_bodies(lambda body: with_loops(body, _distributed))


def _distributed(loop: For) -> Block | None:
    """The loops; ``None`` where a loop is not short, or has no elements that are narrow."""
    count = span_of(loop)
    parts = [part for inner in loop.body.body for part in unscoped(inner)]
    assigns = [part for part in parts if isinstance(part, Assign)]
    if loop.kind != Simd() or loop.step != 1 or not count or len(assigns) < len(parts):
        return None
    if not all(buffer.is_scalar for buffer in loop.body.buffers):
        return None
    if _reads_bytes_that_it_writes(assigns):
        return None
    width = _computed_bytes(assigns)
    if width < I32.bytes or count * width < _SHORTEST:
        return None
    found = _Conversions(loop, assigns, count, width)
    computed = [found.rewritten(assign) for assign in assigns]
    body = [assign for assign in computed if assign is not None]
    if len(body) < len(assigns) or body == assigns:
        return None
    # a loop for each: compilers pack rows that are side by side, and no two at once
    before, after = (
        tuple(replace(loop, body=Block((one,)), kind=Sequential()) for one in conversions)
        for conversions in (found.before, found.after)
    )
    loops = (*before, replace(loop, body=replace(loop.body, body=tuple(body))), *after)
    return Block(loops, buffers=tuple(found.buffers), scoped=True)


def _reads_bytes_that_it_writes(assigns: Sequence[Assign]) -> bool:
    """Whether what is stored after the loop would be read in it, as a value or in a subscript."""
    read = {base_of(e) for a in assigns for part in a.read for e in elements_in(part)}
    narrow = {a.buffer for a in assigns if scalar(a.type).bytes < I32.bytes}
    return not read.isdisjoint(narrow)


def _computed_bytes(assigns: Iterable[Assign]) -> int:
    """The bytes of the widest floats among values; 0 where there are none."""
    parts = (part for a in assigns for value in a.values for part in _parts(value))
    types = (part.type for part in parts)
    return max((t.bytes for t in types if isinstance(t, ScalarType) and t.is_float), default=0)


def _parts(expr: Expr) -> Iterator[Expr]:
    """An expression's nodes, without the subscripts of its elements."""
    yield expr
    if not is_element(expr):
        for child in expr.children:
            yield from _parts(child)


def _is_of_floats_or_a_test(expr: Binary | Unary) -> bool:
    is_test = isinstance(expr, Binary) and expr.sign in _TESTS
    return is_test or scalar(expr.type).is_float


@dataclass(eq=False)
class _Conversions:
    """The conversions of a loop, and buffers of the wide values between it and them."""

    loop: For
    assigns: Sequence[Assign]
    count: int
    width: int
    before: list[Assign] = field(default_factory=list[Assign])
    after: list[Assign] = field(default_factory=list[Assign])
    buffers: list[Buffer] = field(default_factory=list[Buffer])
    #: locals of narrow values, as those of wide ones
    renamed: dict[Symbol, Symbol] = field(default_factory=dict[Symbol, Symbol])
    #: narrow elements and what they are loaded under, as what stands for them
    known: dict[tuple[Expr, Under], Expr] = field(
        default_factory=dict["tuple[Expr, Under]", "Expr"]
    )

    @cached_property
    def written(self) -> frozenset[Symbol | None]:
        """What the loop writes."""
        return frozenset(assign.buffer for assign in self.assigns)

    @cached_property
    def varying(self) -> frozenset[Symbol]:
        """What differs from iteration to iteration."""
        locals_ = {one.symbol for a in self.assigns for one in a.locals if not one.fixed}
        scalars = {
            a.buffer for a in self.assigns if a.buffer is not None and not is_element(a.target)
        }
        return frozenset({self.loop.iterator, *locals_, *scalars})

    def rewritten(self, assign: Assign) -> Assign | None:
        """An assignment of wide values alone; ``None`` where it cannot be one."""
        value, target = assign.value, assign.target
        if self._is_narrow(target) and is_element(target):
            if not isinstance(value, Cast) or value.type != target.type:
                return None
            value, element = value.operand, self._element(target)
            if value.type != I32 and not scalar(value.type).is_float:
                return None
            value = value if value.type == I32 else Cast(I32, value)
            self.after.append(Assign(target, Cast(scalar(target.type), element)))
            target = element
        locals_ = tuple(map(self._local, assign.locals))
        made = replace(assign, target=target, value=self._wide(value), locals=locals_)
        left = (part for value in (target, *made.values) for part in _parts(value))
        return None if any(map(self._is_narrow, left)) else made

    def _local(self, local: Local) -> Local:
        """A local as one of a wide value."""
        value = self._wide(local.value)
        if not self._is_narrow(Var(local.symbol)):
            return replace(local, value=value)
        self.renamed[local.symbol] = Symbol(local.symbol.hint, I32)
        return replace(local, symbol=self.renamed[local.symbol], value=value)

    def _is_narrow(self, expr: Expr) -> bool:
        """Whether a value differs by iteration, and a loop has less than a vector of its type."""
        type_ = expr.type
        if not isinstance(type_, ScalarType) or not type_.is_integer or type_ == BOOL:
            return False
        is_short = type_.bytes < self.width and self.count * type_.bytes < _SHORTEST
        return is_short and not self.varying.isdisjoint(expr.symbols)

    def _wide(self, expr: Expr, under: Under | None = (), *, rounds: bool = True) -> Expr:
        """An expression of wide elements, that rounds no float to a narrow type on its way, but for
        arithmetic on integers; ``under`` is what it is evaluated under, ``None`` where that is not
        known before the loop.
        """
        if is_element(expr):
            return self._widened(expr, under) if self._is_narrow(expr) else expr
        if isinstance(expr, Var):
            return Var(self.renamed.get(expr.symbol, expr.symbol))
        if isinstance(expr, Select):
            sides = (self._under(under, expr.test, holds=holds) for holds in (True, False))
            yes, no = map(self._wide, (expr.yes, expr.no), sides)
            return Select(self._wide(expr.test, under), yes, no)
        if isinstance(expr, Binary) and expr.sign in {"&&", "||"}:
            return Binary(expr.sign, self._wide(expr.left, under), self._wide(expr.right, None))
        free = not isinstance(expr, (Binary, Unary)) or _is_of_floats_or_a_test(expr)
        parts = (self._wide(part, under, rounds=free) for part in expr.children)
        changed = expr.with_children(tuple(parts))
        if isinstance(changed, Cast) and self._is_narrow(changed):
            is_rounded = rounds and scalar(changed.operand.type).is_float
            return Cast(I32, changed.operand) if is_rounded else changed
        return changed

    def _under(self, under: Under | None, test: Expr, *, holds: bool) -> Under | None:
        """What a side of a choice is evaluated under."""
        bases = {*test.symbols, *map(base_of, elements_in(test))}
        if under is None or not bases.isdisjoint({*self.varying, *self.written}):
            return None
        return (*under, (test, holds))

    def _widened(self, load: Expr, under: Under | None) -> Expr:
        """An element as one that was converted before the loop; itself where that cannot be."""
        by_iterator = self.varying & load.symbols == frozenset({self.loop.iterator})
        needed = {base_of(element) for element in elements_in(load)}
        if under is None or not by_iterator or not needed.isdisjoint(self.written):
            return load
        key = (load, under)
        if key not in self.known:
            value: Expr = Cast(I32, load)
            for test, holds in reversed(under):
                sides = (value, number(0)) if holds else (number(0), value)
                value = Select(test, *sides)
            self.known[key] = self._element(load)
            self.before.append(Assign(self.known[key], value))
        return self.known[key]

    def _element(self, narrow: Expr) -> Index:
        """The iteration's element of a new buffer, which stands for one of an array."""
        base = base_of(narrow)
        hint = "value" if base is None else base.hint
        buffer = Buffer(Symbol(f"{hint}_wide", I32), (number(self.count),))
        self.buffers.append(buffer)
        return Index(buffer.symbol, (minus(Var(self.loop.iterator), self.loop.start),))
