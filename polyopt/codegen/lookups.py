"""Short tables are looked up in vector registers, many places at once.

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

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from polyopt.codegen.chelpers import helper_name
from polyopt.codegen.loops import (
    Assign,
    Block,
    Buffer,
    Call,
    For,
    Local,
    Node,
    loops_in,
    with_loops,
)
from polyopt.codegen.names import names_in
from polyopt.codegen.permutes import place_type
from polyopt.codegen.strips import Strips, named, plain, strips_of
from polyopt.ir.types import I64

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyopt.ir.types import ScalarType

#: iterations that share buffers of places, and of elements found
STRIP = 64
#: floor((x + shift) / size), as isl's AST is printed
_CELL = (
    r"(?<!\* )\(X (?P<s1>[+-] \d+)\) / (?P<k1>\d+)|(?<!\* )\bX / (?P<k2>\d+)"
    r"|floordiv_i64\(X(?: (?P<s3>[+-] \d+))?, (?P<k3>\d+)\)"
)


@dataclass(frozen=True)
class _Lookup:
    """``local = row[place]``, where the row is that of one cell of iterations."""

    local: Local
    row: str
    place: str
    #: ``x / 8``, and its size and shift; ``""`` where all iterations see the same row
    cell: str = ""
    size: int = 0
    shift: int = 0


def look_up(block: Block, taken: set[str]) -> Block:
    """The block with short tables looked up in registers.

    ``taken`` are names that mean something else; those of the new variables are added.
    """
    taken |= {loop.iterator for loop in loops_in(block)}
    return with_loops(block, lambda loop: _in_strips(loop, taken))


def _in_strips(loop: For, taken: set[str]) -> For | None:
    """A vector loop with its lookups in registers, strip by strip; ``None`` where it has none."""
    assigns = plain(loop.body)
    if assigns is None:
        return None
    lookups = tuple(tuple(_lookups(assign, assigns, loop.iterator)) for assign in assigns)
    strips = strips_of(loop, STRIP, taken) if any(lookups) else None
    if strips is None:
        return None
    lookup = _Lookups(strips, taken)
    places, after = list[Node](), list[Node]()
    for assign, found in zip(assigns, lookups, strict=True):
        places += lookup.places(assign, found)
        after.append(lookup.after(assign, found))
    calls = lookup.calls([one for found in lookups for one in found])
    buffers = (*lookup.at.values(), *lookup.found.values())
    body = (strips.vector(*places), *calls, strips.vector(*after))
    return strips.around(*body, buffers=buffers)


def _lookups(assign: Assign, assigns: Sequence[Assign], iterator: str) -> Iterator[_Lookup]:
    """The lookups of an assignment that may be done for many iterations at once."""
    written = {other.buffer for other in assigns}
    for local in assign.locals:
        if not local.table or not local.value.endswith("]"):
            continue
        row, place = _split(local.value)
        deciding = _slice(assign, place)
        texts = [place, *(one.value for one in deciding)]
        stale = any(b in written and any(t in text for text in texts) for b, t in assign.loads)
        if stale or names_in(row)[0] in written or any(one.table for one in deciding):
            continue
        lookup = _by_cell(_Lookup(local, row, place), iterator)
        if lookup is not None:
            yield lookup


def _split(element: str) -> tuple[str, str]:
    """``a[x][i]`` as ``a[x]`` and ``i``."""
    depth = 0
    for position in range(len(element) - 1, -1, -1):
        depth += {"]": 1, "[": -1}.get(element[position], 0)
        if depth == 0:
            return element[:position], element[position + 1 : -1]
    return element, ""


def _slice(assign: Assign, text: str) -> tuple[Local, ...]:
    """The locals that a text needs, in order."""
    needed = set(names_in(text))
    found: list[Local] = []
    for local in reversed(assign.locals):
        if local.name in needed:
            needed |= set(names_in(local.value))
            found.append(local)
    return tuple(reversed(found))


def _by_cell(lookup: _Lookup, iterator: str) -> _Lookup | None:
    """The lookup with what its row depends on; ``None`` where each iteration has its own."""
    pattern = _cells(iterator)
    found = list(pattern.finditer(lookup.row))
    if iterator in names_in(pattern.sub("", lookup.row)) or len({one[0] for one in found}) > 1:
        return None
    if not found:
        return lookup
    size = next(int(found[0][k]) for k in ("k1", "k2", "k3") if found[0][k])
    shift = next((found[0][s] for s in ("s1", "s3") if found[0][s]), "0")
    return replace(lookup, cell=found[0][0], size=size, shift=int(shift.replace(" ", "")))


def _cells(iterator: str) -> re.Pattern[str]:
    return re.compile(_CELL.replace("X", re.escape(iterator)))


class _Lookups:
    """Buffers and calls of one loop's lookups."""

    def __init__(self, strips: Strips, taken: set[str]) -> None:
        self.strips = strips
        self.taken = taken
        #: (the locals that decide, text of the place, its type) -> buffer of places
        self.at: dict[tuple[tuple[Local, ...], str, ScalarType], Buffer] = {}
        #: name of a local -> buffer of what is looked up for it
        self.found: dict[str, Buffer] = {}
        #: name of a local -> buffer of its places
        self.places_of: dict[str, Buffer] = {}

    def places(self, assign: Assign, lookups: Sequence[_Lookup]) -> list[Node]:
        """Assignments of the places that an assignment looks up."""
        made: list[Assign] = []
        declared: set[str] = set()
        for lookup in lookups:
            type_ = place_type(lookup.local.type)
            key = _slice(assign, lookup.place), lookup.place, type_
            if key not in self.at:
                at = self.at[key] = self.strips.buffer(named("at", self.taken), type_)
                own = tuple(one for one in key[0] if one.name not in declared)
                declared |= {one.name for one in own}
                made.append(
                    Assign(at.name + self.strips.place(), lookup.place, at.name, locals=own)
                )
            self.places_of[lookup.local.name] = self.at[key]
            name = named(f"{lookup.local.name}_found", self.taken)
            self.found[lookup.local.name] = self.strips.buffer(name, lookup.local.type)
        return list(made)

    def after(self, assign: Assign, lookups: Sequence[_Lookup]) -> Assign:
        """The assignment, reading what was looked up."""
        done = {lookup.local.name for lookup in lookups}
        locals_ = tuple(
            replace(one, value=self.found[one.name].name + self.strips.place(), table=0)
            if one.name in done
            else one
            for one in assign.locals
        )
        assign = replace(assign, locals=locals_)
        return replace(assign, locals=_slice(assign, f"{assign.target} {assign.value}"))

    def calls(self, lookups: Sequence[_Lookup]) -> list[Node]:
        """Calls that look up all places of a strip, row by row."""
        count = self.strips.count
        alike = [lookup for lookup in lookups if not lookup.cell]
        cells = dict.fromkeys(lookup.cell for lookup in lookups if lookup.cell)
        return [
            *(self._call(one, one.row, "", count) for one in alike),
            *(self._rows([one for one in lookups if one.cell == cell]) for cell in cells),
        ]

    def _call(self, lookup: _Lookup, row: str, first: str, count: str) -> Call:
        at, found = self.places_of[lookup.local.name], self.found[lookup.local.name]
        given, taken = (f"&{b.name}[{first}]" if first else b.name for b in (at, found))
        name = helper_name("lookup", lookup.local.type)
        return Call(name, (row, str(lookup.local.table), given, taken, count))

    def _rows(self, lookups: Sequence[_Lookup]) -> For:
        """The loop over the rows that a strip sees."""
        start, end = self.strips.start, self.strips.end
        x, one = self.strips.loop.iterator, lookups[0]
        cell, first, count = (named(name, self.taken) for name in (f"{x}_cell", "first", "count"))
        begin = _sum(f"{one.size} * {cell}", -one.shift)
        least, most = helper_name("max", I64), helper_name("min", I64)
        past = f"{most}({end}, {_sum(f'{one.size} * {cell}', one.size - one.shift)})"
        constants = {first: f"{least}({start}, {begin})", count: f"{past} - {first}"}
        declared = tuple(
            Assign(name, text, type=I64, declares=True, constant=True)
            for name, text in constants.items()
        )
        calls = tuple(
            self._call(lookup, _cells(x).sub(cell, lookup.row), f"{first} - {start}", count)
            for lookup in lookups
        )
        lowest, last = (re.sub(rf"\b{x}\b", at, one.cell) for at in (start, f"({end} - 1)"))
        return For(cell, lowest, f"{cell} <= {last}", 1, Block((*declared, *calls)))


def _sum(text: str, number: int) -> str:
    if not number:
        return text
    return f"{text} {'+' if number > 0 else '-'} {abs(number)}"
