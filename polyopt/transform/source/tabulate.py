"""Tabulation (loop-invariant code motion into arrays): a part of a value that depends on few of the
loops around it is computed once for each of their iterations, in a table that instances look up.

relation: ``S[y, x]`` computes ``f(x)`` in each of its instances; ``{ T[x] }``, their projection,
are computed before them. With ``data`` also ``f(k, x)`` of an integer ``k`` that is not affine, as
one that data choose, between bounds which sizes give: ``{ T[k, x] }`` for all that ``k`` may be.

rewrite: ``for (y) for (x) out[y][x] = in[y][x] * exp(c * x);`` ->
``for (x) t[x] = exp(c * x);`` in a nest right before, and
``for (y) for (x) out[y][x] = in[y][x] * t[x];``. With ``data``, ``out[y][x] = f(in[row[y]][x], x)``
-> ``for (k) for (x) t[k][x] = f(in[k][x], x);`` and ``out[y][x] = t[row[y]][x];``: rows that were
resampled for every result that reads them, once each; ``f(u8)`` is a table of 256 elements.

*Requires* a statement with a part, more than a value that is loaded, that depends on the loops
given (and on one integer that data choose between bounds) alone, and reads nothing that the nest
around it writes. What is evaluated under a condition only may be where no table's element can fail:
its subscripts are in bounds for all of them. Comes before all other moves, but those that change
the program as well: it gets more arrays.
(D. Michie, "Memo functions and machine learning", Nature 1968; R. Bird, "Tabulation techniques for
recursive programs", ACM Computing Surveys 1980.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError
from polyopt.ir.block import Block
from polyopt.ir.build import cast
from polyopt.ir.expr import (
    Affine,
    Binary,
    Cast,
    Const,
    Expr,
    Inside,
    Load,
    RangeHint,
    Select,
    index_of,
    same_expr,
)
from polyopt.ir.scop import Array, Loop, Statement, statements_in
from polyopt.ir.types import BOOL, I64
from polyopt.isl import PwMultiAff, affine_constant, affine_var, dim_type, joined_values
from polyopt.memo import memo
from polyopt.transform.schedule.query import unknown
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.source.clone_stage import over
from polyopt.transform.source.forwarding import forwarding_of
from polyopt.transform.source.parts import Parts, range_of
from polyopt.transform.source.separate_filter import array_box

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.ir.scop import Scop
    from polyopt.isl import PwAff, Set
    from polyopt.transform.source.parts import Loops

#: operations on integers that fail for some operands
_DIVISIONS = {"div", "mod", "floordiv", "floormod"}


@transformation("source")
def tabulate(scop: Scop, name: str, *loops: str, data: bool = False) -> Scop:
    """The program with parts of statement ``name`` that depend on ``loops`` alone in tables.

    ``data`` lets them depend on one integer that is not affine, such as one that data choose, too.
    """
    statement = next((s for s in scop.statements if s.name == name), None)
    if statement is None:
        raise unknown("statement", name, [s.name for s in scop.statements])
    for loop in loops:
        if loop not in statement.iterators:
            raise unknown(f"loop of {name}", loop, list(statement.iterators))
    tables = tables_of(scop, statement, loops, data=data)
    if not tables:
        what = " and ".join([*dict.fromkeys(loops), *(["data"] if data else [])])
        message = f"{name} computes nothing that depends on {what or 'sizes'} alone"
        hint = "name the loops that it may depend on" if not loops else ""
        raise InvalidOptionError(message, span=statement.span, hint=hint)
    return with_tables(scop, statement, tables)


@dataclass(frozen=True, eq=False)
class Table:
    """Parts of a statement's value that are one function of an integer and of some loops."""

    scop: Scop
    parts: Parts
    #: positions of the iterators that it depends on
    loops: tuple[int, ...]
    #: the part that stands for all
    part: Expr
    #: the number of the integer in it that data choose, if any
    key: int | None
    #: each of the parts, by identity, and the number of the integer that it is looked up at
    uses: dict[int, int | None]

    @property
    def statement(self) -> Statement:
        """The statement that they are parts of."""
        return self.parts.statement

    @property
    def bounds(self) -> tuple[PwAff, PwAff]:
        """``[N] -> { [first key] }``, and the last one."""
        assert self.key is not None
        return self.parts.keys[self.key]

    @cached_property
    def cells(self) -> Set:
        """``{ T[k, x] }``, the instances that compute it."""
        cells = self.statement.domain
        for k in reversed(range(len(self.statement.iterators))):
            if k not in self.loops:
                cells = cells.project_out(dim_type.set, k, 1)
        if self.key is not None:
            cells = cells.insert_dims(dim_type.set, 0, 1)
            space, (low, high) = cells.get_space(), self.bounds
            own = affine_var(space, 0)
            cells = cells.intersect(own.ge_set(low.insert_domain(space)))
            cells = cells.intersect(own.le_set(high.insert_domain(space)))
        cells = cells.set_tuple_name("table").coalesce()
        for position, name in enumerate(self.iterators):
            cells = cells.set_dim_name(dim_type.set, position, name)
        return cells

    @cached_property
    def iterators(self) -> tuple[str, ...]:
        """The names of its loops."""
        names = [self.statement.iterators[k] for k in self.loops]
        if self.key is None:
            return tuple(names)
        taken = {*names, *self.scop.params, *(a.name for a in self.scop.arrays)}
        stem = "k"
        while stem in taken:
            stem += "k"
        return (stem, *names)

    @cached_property
    def back(self) -> PwMultiAff:
        """``{ T[k, x] -> S[0, x] }``: nothing depends on the other iterators."""
        space, first = self.cells.get_space(), int(self.key is not None)
        at = {k: first + n for n, k in enumerate(self.loops)}
        parts = [
            affine_var(space, at[k]) if k in at else affine_constant(space, 0)
            for k in range(len(self.statement.iterators))
        ]
        return joined_values(parts, self.statement.name)

    @cached_property
    def value(self) -> Expr:
        """Its value, over ``cells``."""
        return self._moved(self.part)

    def _moved(self, node: Expr) -> Expr:
        node = self.parts.seen(node)
        if self.key is not None and self.parts.number(node) == self.key:
            return Affine(node.type, affine_var(self.cells.get_space(), 0))
        if isinstance(node, Affine):
            return replace(node, form=node.form.pullback_pw_multi_aff(self.back))
        if isinstance(node, Inside):
            return replace(node, where=node.where.preimage_pw_multi_aff(self.back))
        return node.with_children(tuple(map(self._moved, node.children)))

    def statement_of(self, name: str) -> Statement:
        """What computes it as array ``name``."""
        cells = self.cells.set_tuple_name(name)
        space = cells.get_space()
        index = tuple(index_of(affine_var(space, k)) for k in range(len(self.iterators)))
        value = over(self.value, space)
        return Statement(name, self.iterators, cells, name, index, value, self.statement.span)

    def lookup(self, name: str, key: int | None) -> Expr:
        """The element of array ``name`` that an instance of the statement reads; as a subscript,
        with the bounds of what was computed in its place."""
        space = self.statement.space
        at: list[Expr] = [cast(I64, self.parts.nodes[key])] if key is not None else []
        at += [index_of(affine_var(space, k)) for k in self.loops]
        found = Load(self.part.type, name, tuple(at))
        if not found.type.is_integer:
            return found
        low, high = range_of(self.part, self.statement)
        return found if low is None or high is None else RangeHint(found.type, found, low, high)

    @cached_property
    def box(self) -> tuple[tuple[PwAff, ...], tuple[PwAff, ...]] | None:
        """First indices and extents of the array; ``None`` where they are not simple."""
        return array_box(self.cells, self.scop)


def tables_of(
    scop: Scop, statement: Statement, loops: tuple[str, ...], *, data: bool
) -> tuple[Table, ...]:
    """What a statement computes that depends on some of its loops alone, the largest parts; with
    ``data`` on an integer that data choose, too."""
    if isinstance(statement.value, Block) or statement.spread or not (loops or data):
        return ()
    positions = tuple(k for k, name in enumerate(statement.iterators) if name in loops)
    finder = _Finder(scop, parts_of(scop, statement), positions, data)
    tables: list[Table] = []
    for part, key in finder.found(statement.value, sure=True):
        new = Table(scop, finder.parts, positions, part, key, {id(part): key})
        like = next((t for t in tables if _is_like(t, new)), None)
        if like is not None:
            like.uses[id(part)] = key
        elif new.box is not None:
            tables.append(new)
    return tuple(tables)


@memo
def parts_of(scop: Scop, statement: Statement) -> Parts:
    """The parts of a statement's value, where the nest around it may change what they read."""
    return Parts(statement, scop.written_around(statement.name), forwarding_of(scop))


def with_tables(scop: Scop, statement: Statement, tables: tuple[Table, ...]) -> Scop:
    """The program with these in arrays of their own, each in a nest right before the statement's;
    those over the same loops share one."""
    arrays, made, nests = list(scop.arrays), list[Statement](), list[Loop]()
    reads: dict[int, Expr] = {}
    together: list[str] = []
    for table in tables:
        name = replace(scop, arrays=tuple(arrays)).unused_name(f"{statement.array}_table")
        assert table.box is not None
        lows, extents = table.box
        arrays.append(Array(name, table.part.type, extents, "temp", lows, span=statement.span))
        made.append(table.statement_of(name))
        if table.key is None:
            together.append(name)
        else:
            nests.append(_nest(table.iterators, (name,)))
        for part, key in table.uses.items():
            reads[part] = table.lookup(name, key)
    if together:
        nests.insert(0, _nest(made[0].iterators[-len(tables[0].loops) :], tuple(together)))
    parts = tables[0].parts
    now = replace(statement, value=_reading(statement.value, parts, reads))
    at = scop.statements.index(statement)
    statements = (*scop.statements[:at], *made, now, *scop.statements[at + 1 :])
    nest: list[Loop | str] = []
    for node in scop.nest:
        nest += [*nests, node] if statement.name in statements_in(node) else [node]
    return replace(scop, arrays=tuple(arrays), statements=statements, nest=tuple(nest))


def _nest(iterators: tuple[str, ...], names: tuple[str, ...]) -> Loop:
    body: tuple[Loop | str, ...] = names
    for iterator in reversed(iterators):
        body = (Loop(iterator, body),)
    (nest,) = body
    assert isinstance(nest, Loop)
    return nest


def _reading(node: Expr, parts: Parts, reads: dict[int, Expr]) -> Expr:
    """A value with lookups; a local stays one where nothing that it holds is looked up."""
    seen = parts.seen(node)
    if id(seen) in reads:
        return reads[id(seen)]
    children = tuple(_reading(child, parts, reads) for child in seen.children)
    if all(new is old for new, old in zip(children, seen.children, strict=True)):
        return node
    return seen.with_children(children)


def _is_like(one: Table, other: Table) -> bool:
    if (one.key is None) != (other.key is None) or one.part.type != other.part.type:
        return False
    if one.key is not None:
        pairs = zip(one.bounds, other.bounds, strict=True)
        if not all(a.is_equal(b) for a, b in pairs):
            return False
    return same_expr(one.value, other.value)


@dataclass(frozen=True, eq=False)
class _Finder:
    """Looks for parts of a statement's value."""

    scop: Scop
    parts: Parts
    loops: tuple[int, ...]
    data: bool

    @cached_property
    def keys(self) -> list[tuple[int, list[Loops], list[bool]]]:
        """The integers that data choose, the loops that parts depend on without them, and the parts
        that are made of them."""
        parts, keys = self.parts, self.parts.keys if self.data else ()
        return [(key, parts.without(key), parts.works_on(key)) for key in keys]

    def found(self, node: Expr, *, sure: bool) -> Iterator[tuple[Expr, int | None]]:
        """The largest parts, each with the integer that data choose in it. ``sure`` says that
        every instance evaluates them."""
        number = self.parts.number(node)
        node = self.parts.seen(node)
        if not self.parts.is_work[number]:
            return
        if node.type != BOOL and not _is_widened(node):
            for key in self._keys_of(number):
                if self._is_safe(node, key, sure=sure):
                    yield node, key
                    return
        for position, child in enumerate(node.children):
            chosen = isinstance(node, Select) and position > 0
            yield from self.found(child, sure=sure and not chosen)

    def _keys_of(self, number: int) -> Iterator[int | None]:
        """The integers that a part may depend on besides the loops; ``None`` for none."""
        allowed = frozenset(self.loops)
        if self.parts.loops[number] <= allowed:
            yield from [None] if self.parts.loops[number] else ()
            return
        for key, without, works in self.keys:
            if works[number] and without[number] <= allowed:
                yield key

    def _is_safe(self, node: Expr, key: int | None, *, sure: bool) -> bool:
        """Whether it may be evaluated for all elements of the table: where some of them belong to
        no instance that does so, what it reads has to be given and in bounds."""
        if sure and key is None:
            return True
        inside = [*self._inside(node, key)]
        if any(may_fail(n) for n in inside if not sure or self._is_made_of(n, key)):
            return False
        given = {a.name for a in self.scop.arrays if a.is_live_in}
        given -= {s.array for s in self.scop.statements}
        if any(isinstance(n, Load) and n.array not in given for n in inside):
            return False
        table = Table(self.scop, self.parts, self.loops, node, key, {})
        made = table.statement_of("table")
        return all(
            access.relation.intersect_params(self.scop.context)
            .range()
            .is_subset(self.scop.elements[access.array])
            for access in made.reads
        )

    def _inside(self, node: Expr, key: int | None) -> Iterator[Expr]:
        """What a part is made of, down to the integer that data choose."""
        if self.parts.number(node) == key:
            return
        node = self.parts.seen(node)
        yield node
        for child in node.children:
            yield from self._inside(child, key)

    def _is_made_of(self, node: Expr, key: int | None) -> bool:
        return key is not None and self.parts.above(key)[self.parts.number(node)]


def may_fail(node: Expr) -> bool:
    """Whether C leaves open what a node does for some operands, or nobody knows what others are
    than those that occur."""
    if isinstance(node, RangeHint):
        return True
    if isinstance(node, Binary) and node.op in _DIVISIONS:
        return not node.type.is_float and not isinstance(node.right, Const)
    return isinstance(node, Cast) and node.type.is_integer and node.operand.type.is_float


def _is_widened(node: Expr) -> bool:
    """Whether a table of the operand would be the smaller one."""
    return isinstance(node, Cast) and node.operand.type.bytes < node.type.bytes
