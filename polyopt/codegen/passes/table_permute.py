"""Table lookup by permutation: short tables are looked up in vector registers, many places at once.

rewrite: ``for (x) out[x] = f(x, table[i(x)]);`` -> for every strip of ``x``

    for (x) at[x - x_strip] = i(x);
    lookup_f32(table, 12, at, found, x_end - x_strip);
    for (x) out[x] = f(x, found[x - x_strip]);

Compilers load such elements one by one, and then often the whole loop is scalar. A table of a
few dozen elements, or of a thousand bytes, fits in registers, whose lanes processors permute
much faster. Where its row changes every few iterations (``grid[x / 8][i(x)]``), the call stands
in a loop over those rows.

*Requires* a vector loop of assignments alone, which writes neither the tables nor what decides
on places in them.

*Does not handle* tables of 64-bit elements or of parametric length, places that data decide in
more than the last subscript, and lookups at places that were looked up.
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
    Var,
    minus,
    number,
    number_of,
    plus,
    scalar,
)
from polyopt.codegen.ast.nodes import (
    Assign,
    Block,
    Buffer,
    Do,
    For,
    Local,
    Node,
    plain,
    with_loops,
)
from polyopt.codegen.ast.subscripts import with_offset
from polyopt.codegen.ast.visit import base_of, elements_in, substitute, walk
from polyopt.codegen.helpers.arithmetic import helper_name
from polyopt.codegen.helpers.permute import place_type
from polyopt.codegen.passes.strip_mine import StripMinedLoop, strips_of
from polyopt.ir.types import I64

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from polyopt.ir.types import ScalarType

#: iterations that share buffers of places, and of elements found
STRIP = 64
_FLOORDIV = helper_name("floordiv", I64)


@dataclass(frozen=True)
class _Cell:
    """``floor((x + shift) / size)``: the number of a cell of iterations."""

    value: Expr
    size: int
    shift: int


@dataclass(frozen=True)
class _Lookup:
    """``local = row[place]``, where the row is that of one cell of iterations."""

    local: Local
    row: Index | Var
    place: Expr
    #: none where all iterations see the same row
    cell: _Cell | None = None


def table_permute(block: Block) -> Block:
    """The block with short tables looked up in registers."""
    return with_loops(block, _in_strips)


def _in_strips(loop: For) -> For | None:
    """A vector loop with its lookups in registers, strip by strip; ``None`` where it has none."""
    assigns = plain(loop.body)
    if assigns is None:
        return None
    lookups = tuple(tuple(_lookups(assign, assigns, loop.iterator)) for assign in assigns)
    strips = strips_of(loop, STRIP) if any(lookups) else None
    if strips is None:
        return None
    lookup = _Lookups(strips)
    places, after = list[Node](), list[Node]()
    for assign, found in zip(assigns, lookups, strict=True):
        places += lookup.places(assign, found)
        after.append(lookup.after(assign, found))
    calls = lookup.calls([one for found in lookups for one in found])
    buffers = (*lookup.at.values(), *lookup.found.values())
    body = (strips.vector(*places), *calls, strips.vector(*after))
    return strips.around(*body, buffers=buffers)


def _lookups(assign: Assign, assigns: Sequence[Assign], iterator: Symbol) -> Iterator[_Lookup]:
    """The lookups of an assignment that may be done for many iterations at once."""
    written = {other.buffer for other in assigns}
    for local in assign.locals:
        if not local.table or not isinstance(local.value, Index):
            continue
        *rows, place = local.value.subscripts
        array = local.value.array
        row = Index(array, tuple(rows)) if rows else Var(array)
        deciding = _slice(assign, (place,))
        values = (place, *(one.value for one in deciding))
        stale = any(base_of(e) in written for value in values for e in elements_in(value))
        if stale or array in written or any(one.table for one in deciding):
            continue
        lookup = _by_cell(_Lookup(local, row, place), iterator)
        if lookup is not None:
            yield lookup


def _slice(assign: Assign, values: Iterable[Expr]) -> tuple[Local, ...]:
    """The locals that values need, in order."""
    needed = {symbol for value in values for symbol in value.symbols}
    found: list[Local] = []
    for local in reversed(assign.locals):
        if local.symbol in needed:
            needed |= local.value.symbols
            found.append(local)
    return tuple(reversed(found))


def _by_cell(lookup: _Lookup, iterator: Symbol) -> _Lookup | None:
    """The lookup with what its row depends on; ``None`` where each iteration has its own."""
    cells = {cell for node in walk(lookup.row) if (cell := _cell(node, iterator)) is not None}
    zero = number(0)
    rest = substitute(lookup.row, {cell.value: zero for cell in cells})
    if iterator in rest.symbols or len(cells) > 1:
        return None
    return replace(lookup, cell=cells.pop()) if cells else lookup


def _cell(node: Expr, iterator: Symbol) -> _Cell | None:
    match node:
        case Binary(sign="/", left=left, right=Const() as right):
            pass
        case Call(function=function, arguments=(left, Const() as right)) if function == _FLOORDIV:
            pass
        case _:
            return None
    stem, shift = with_offset(left)
    size = number_of(right)
    return _Cell(node, size, shift) if stem == Var(iterator) and size is not None else None


class _Lookups:
    """Buffers and calls of one loop's lookups."""

    def __init__(self, strips: StripMinedLoop) -> None:
        self.strips = strips
        #: (the locals that decide, the place, its type) -> buffer of places
        self.at: dict[tuple[tuple[Local, ...], Expr, ScalarType], Buffer] = {}
        #: a local -> buffer of what is looked up for it
        self.found: dict[Symbol, Buffer] = {}
        #: a local -> buffer of its places
        self.places_of: dict[Symbol, Buffer] = {}

    def places(self, assign: Assign, lookups: Sequence[_Lookup]) -> list[Node]:
        """Assignments of the places that an assignment looks up."""
        made: list[Assign] = []
        declared: set[Symbol] = set()
        for lookup in lookups:
            local = lookup.local.symbol
            type_ = place_type(scalar(local.type))
            key = _slice(assign, (lookup.place,)), lookup.place, type_
            if key not in self.at:
                at = self.at[key] = self.strips.buffer("at", type_)
                own = tuple(one for one in key[0] if one.symbol not in declared)
                declared |= {one.symbol for one in own}
                made.append(Assign(self.strips.element(at), lookup.place, locals=own))
            self.places_of[local] = self.at[key]
            stem = local.hint or lookup.row.own_symbols[0].hint
            self.found[local] = self.strips.buffer(f"{stem}_found", scalar(local.type))
        return list(made)

    def after(self, assign: Assign, lookups: Sequence[_Lookup]) -> Assign:
        """The assignment, reading what was looked up."""
        done = {lookup.local.symbol for lookup in lookups}
        locals_ = tuple(
            replace(one, value=self.strips.element(self.found[one.symbol]), table=0)
            if one.symbol in done
            else one
            for one in assign.locals
        )
        assign = replace(assign, locals=locals_)
        return replace(assign, locals=_slice(assign, (assign.target, assign.value)))

    def calls(self, lookups: Sequence[_Lookup]) -> list[Node]:
        """Calls that look up all places of a strip, row by row."""
        count = self.strips.count
        alike = [lookup for lookup in lookups if lookup.cell is None]
        cells = dict.fromkeys(lookup.cell for lookup in lookups if lookup.cell is not None)
        return [
            *(self._call(one, one.row, None, count) for one in alike),
            *(self._rows(cell, [one for one in lookups if one.cell == cell]) for cell in cells),
        ]

    def _call(self, lookup: _Lookup, row: Expr, first: Expr | None, count: Expr) -> Do:
        local = lookup.local.symbol
        buffers = (self.places_of[local], self.found[local])
        given, taken = (
            Var(b.symbol) if first is None else AddressOf(Index(b.symbol, (first,)))
            for b in buffers
        )
        name = helper_name("lookup", scalar(local.type))
        return Do(Call(name, (row, number(lookup.local.table), given, taken, count), I64))

    def _rows(self, cell: _Cell, lookups: Sequence[_Lookup]) -> For:
        """The loop over the rows that a strip sees."""
        start, end = Var(self.strips.start), Var(self.strips.end)
        x = self.strips.loop.iterator
        here, first, count = (
            Var(Symbol(hint, I64)) for hint in (f"{x.hint}_cell", "first", "count")
        )
        least, most = helper_name("max", I64), helper_name("min", I64)
        begin = Binary("*", number(cell.size), here)
        past = Call(most, (end, plus(begin, cell.size - cell.shift)), I64)
        constants = {
            first: Call(least, (start, plus(begin, -cell.shift)), I64),
            count: Binary("-", past, first),
        }
        declared = tuple(
            Assign(name, value, declares=True, constant=True) for name, value in constants.items()
        )
        calls = tuple(
            self._call(
                lookup, substitute(lookup.row, {cell.value: here}), minus(first, start), count
            )
            for lookup in lookups
        )
        lowest, last = (substitute(cell.value, {Var(x): at}) for at in (start, plus(end, -1)))
        body = Block((*declared, *calls))
        return For(here.symbol, lowest, Binary("<=", here, last), 1, body)
