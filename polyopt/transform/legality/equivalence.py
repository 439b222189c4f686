"""That two programs compute the same, for all sizes: their values, followed from the results back.

A claim says that the value of one program's instance is that of the other's. It holds where both
apply one operation to operands of which claims hold, down to what the caller gave. Claims about a
statement that reads its own values lead to claims further back; after a few, those are guessed
for all iterations at once, as the affine hull, if need be within bounds that all have in common.
All claims made are checked in the end, guessed ones too, so that they hold by induction over the
time at which the one program runs.
(S. Verdoolaege, G. Janssens, M. Bruynooghe, "Equivalence checking of static affine programs using
widening to handle recurrences", 2009; here with copies and inlined values seen through.)

relation: a claim is ``{ P[j] -> Q[k] }`` over instances of the one program and of the other
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from polyopt.ir.block import Block
from polyopt.ir.expr import Affine, Cast, Const, Expr, Inside, Load, Select, loads, payload
from polyopt.ir.integers import plain, plain_values
from polyopt.ir.types import BOOL, contains
from polyopt.isl import (
    IslError,
    Map,
    PwAff,
    Set,
    affine_constant,
    affine_var,
    dim_type,
    maps_of,
    sample,
    sets_of,
    tuple_name,
    union_all,
)
from polyopt.transform.legality.proof import Flow, program_flow
from polyopt.transform.schedule.identity import source_program

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.ir.scop import Scop, Statement
    from polyopt.ir.types import ScalarType

#: claims about two statements that led to each other and are taken one by one; then the hull, of
#: the second try within the bounds that all have in common (a block's corner that is no result's)
_BEFORE_HULL = (0, 3)
#: copies of copies that are followed before giving up
_MOST_STEPS = 64


#: pairs of statements
Trail = frozenset[tuple[str, str]]


class NotShownError(Exception):
    """Where the comparison of two programs ends without an answer, or with a difference."""


class Head(NamedTuple):
    """An operand with copies seen through: whose expression it is, and at which pairs."""

    expr: Expr
    owner: Statement
    #: whether it is the value that ``owner`` stores
    stored: bool
    pairs: Map


def check_same(one: Scop, other: Scop, names: Mapping[str, str]) -> int:
    """Show that ``other`` leaves in each result what ``one`` does; the number of claims made.

    ``names`` gives the other's name of each array that the caller sees. Raises ``NotShownError``.
    """
    sides = _Side(one, 0), _Side(other, 1)
    early, late = _BEFORE_HULL
    with suppress(NotShownError):
        return _Comparison(*sides, names, early).shown()
    return _Comparison(*sides, names, late, bounded=True).shown()


@dataclass(frozen=True, eq=False)
class _Side:
    """A program and where each of its reads gets its value."""

    scop: Scop
    #: 0 where its instances are the domains of claims, 1 where they are the ranges
    number: int

    @cached_property
    def flow(self) -> Flow:
        return program_flow(source_program(self.scop))

    @cached_property
    def statements(self) -> Mapping[str, Statement]:
        return {s.name: s for s in self.scop.statements}

    @cached_property
    def values(self) -> Mapping[str, Expr]:
        """What each statement stores, as a number."""
        return plain_values(self.scop)

    def value(self, statement: Statement) -> Expr:
        if _is_opaque(statement):
            raise NotShownError(f"{statement.name} is opaque")
        return self.values[statement.name]

    @cached_property
    def references(self) -> Mapping[tuple[str, int], str]:
        """The reference of each load, by statement and id: one node may stand in several."""
        return {
            (s.name, id(load)): access.ref
            for s in self.scop.statements
            if not _is_opaque(s)
            for load, access in zip(loads(s.value), s.reads, strict=True)
        }

    @cached_property
    def exact(self) -> Mapping[str, bool]:
        return {a.ref: a.exact for s in self.scop.statements for a in s.reads}

    @cached_property
    def sources(self) -> Mapping[str, list[Map]]:
        """``{ S[i] -> P[j] }`` per reference, and ``{ end:A[x] -> P[j] }`` per result."""
        result: dict[str, list[Map]] = {}
        for part in maps_of(self.flow.seen):
            event = part.range().unwrap()
            ref = tuple_name(event, dim_type.out)
            key = tuple_name(event, dim_type.in_) if ref == "end" else ref
            result.setdefault(key, []).append(part.reverse().domain_factor_domain())
        return result

    @cached_property
    def unfed(self) -> Mapping[str, Set]:
        """``{ S[i] }`` per reference: the instances that read what no statement wrote."""
        named = union_all(read.to_source for read in self.flow.program.reads)
        result: dict[str, Set] = {}
        for part in sets_of(self.flow.no_source.domain().apply(named)):
            event = part.unwrap()
            result[tuple_name(event, dim_type.out)] = event.domain()
        return result

    @cached_property
    def written(self) -> frozenset[str]:
        return frozenset(s.array for s in self.scop.statements)

    def at(self, pairs: Map, source: Map) -> Map:
        """Pairs of this side's readers as pairs of those whose values they read."""
        return pairs.apply_range(source) if self.number else pairs.apply_domain(source)

    def within(self, pairs: Map, where: Set) -> Map:
        return pairs.intersect_range(where) if self.number else pairs.intersect_domain(where)

    def without(self, pairs: Map, where: Set) -> Map:
        return pairs.subtract_range(where) if self.number else pairs.subtract_domain(where)

    def heads(self, expr: Expr, owner: Statement, pairs: Map) -> Iterator[Head]:
        """The operand with copies and choices between instances seen through."""
        waiting = [(Head(expr, owner, stored=False, pairs=pairs), 0)]
        while waiting:
            head, steps = waiting.pop()
            if head.pairs.is_empty():
                continue
            if steps > _MOST_STEPS:
                raise NotShownError(f"copies without end in {head.owner.name}")
            waiting += [(next_, steps + 1) for next_ in self._through(head)]
            if not _is_seen_through(head.expr):
                yield head
            elif isinstance(head.expr, Load):
                given = self._given(head.expr, head)
                if not given.is_empty():
                    yield head._replace(stored=False, pairs=given)

    def _through(self, head: Head) -> Iterator[Head]:
        expr = head.expr
        if isinstance(expr, Select) and isinstance(expr.cond, Inside):
            where = expr.cond.where.set_tuple_id(head.owner.space.get_tuple_id(dim_type.set))
            yield head._replace(expr=expr.then, pairs=self.within(head.pairs, where))
            yield head._replace(expr=expr.other, pairs=self.without(head.pairs, where))
        if isinstance(expr, Load):
            for source in self._feeds(expr, head.owner):
                writer = self.statements[tuple_name(source, dim_type.out)]
                pairs = self.at(head.pairs, source)
                yield Head(self.value(writer), writer, stored=True, pairs=pairs)

    def _feeds(self, load: Load, owner: Statement) -> list[Map]:
        ref = self.references[owner.name, id(load)]
        if not self.exact[ref] and load.array in self.written:
            raise NotShownError(f"a read of {load.array} finds its element in data")
        return self.sources.get(ref, []) if self.exact[ref] else []

    def _given(self, load: Load, head: Head) -> Map:
        """The pairs whose element holds what the caller gave."""
        pairs = head.pairs
        if not self._feeds(load, head.owner):
            return pairs
        unfed = self.unfed.get(self.references[head.owner.name, id(load)])
        return pairs.subtract(pairs) if unfed is None else self.within(pairs, unfed)


def _is_opaque(statement: Statement) -> bool:
    return isinstance(statement.value, Block)


def _is_seen_through(expr: Expr) -> bool:
    return isinstance(expr, Load) or (isinstance(expr, Select) and isinstance(expr.cond, Inside))


@dataclass(eq=False)
class _Comparison:
    """Claims about the instances of two programs, and those still to be checked."""

    one: _Side
    other: _Side
    names: Mapping[str, str]
    #: how many claims about two statements wait for the hull
    patience: int
    #: whether the guess keeps the bounds of claims that those they led to are within
    bounded: bool = False
    claims: dict[tuple[str, str], Map] = field(default_factory=dict[tuple[str, str], Map])
    times: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    waiting: list[tuple[str, str, Map, Trail]] = field(
        default_factory=list["tuple[str, str, Map, Trail]"]
    )
    #: the claims that led to those being made
    trail: Trail = frozenset()

    def shown(self) -> int:
        """Check everything; the number of claims. Raises ``NotShownError``."""
        for array in self.one.scop.arrays:
            if array.is_live_out:
                self.results(array.name)
        while self.waiting:
            self.settle(*self.waiting.pop())
        return sum(1 for claim in self.claims.values() if not claim.is_empty())

    def results(self, array: str) -> None:
        """Claim that each element ends with the same value."""
        mine = self.one.sources.get(f"end:{array}", [])
        theirs = self.other.sources.get(f"end:{self.names[array]}", [])
        renamed = [m.apply_domain(self._end(array)) for m in theirs]
        context = self.one.scop.context
        for here, there in ((mine, renamed), (renamed, mine)):
            for part in here:
                rest = part.domain().intersect_params(context)
                for other in there:
                    rest = rest.subtract(other.domain())
                if not rest.is_empty():
                    raise NotShownError(f"an element of {array} is written by one program alone")
        for one in mine:
            for other in renamed:
                pairs = one.reverse().apply_range(other).intersect_params(context)
                first = self.one.statements[tuple_name(one, dim_type.out)]
                last = self.other.statements[tuple_name(other, dim_type.out)]
                self._match(
                    Head(self.one.value(first), first, stored=True, pairs=pairs),
                    Head(self.other.value(last), last, stored=True, pairs=pairs),
                )

    def _end(self, array: str) -> Map:
        """``{ end:B[y] -> end:A[x] }`` of an array ``A`` that is called ``B`` there."""
        moved = self.elements(array).reverse()
        name = tuple_name(moved, dim_type.in_)
        return moved.set_tuple_name(dim_type.in_, f"end:{name}").set_tuple_name(
            dim_type.out, f"end:{array}"
        )

    def elements(self, array: str) -> Map:
        """``{ A[x] -> B[y] }``: an element's place in the other program: it starts at zero."""
        mine, theirs = self.one.scop.array(array), self.other.scop.array(self.names[array])
        elements = mine.elements(self.one.scop.params)
        result = Map.from_domain(elements)
        space = elements.get_space()
        for position in range(theirs.rank):
            index = affine_constant(space, 0)
            if position < mine.rank:
                index = affine_var(space, position)
            if mine.lower and position < mine.rank:
                index = index.sub(mine.lower[position].insert_domain(space))
            result = result.flat_range_product(Map.from_pw_aff(index))
        return result.set_tuple_name(dim_type.out, theirs.name)

    # -- claims -----------------------------------------------------------------------------

    def _claim(self, one: Statement, other: Statement, pairs: Map) -> None:
        key = (one.name, other.name)
        known = self.claims.get(key)
        if known is not None and pairs.is_subset(known):
            return
        self.times[key] = self.times.get(key, 0) + (key in self.trail)
        wanted = pairs if known is None else _joined(known.union(pairs))
        if self.times[key] > self.patience:
            hull = Map.from_basic_map(wanted.affine_hull())
            bounds = known if self.bounded else None
            wanted = hull if bounds is None else hull.intersect(_common_bounds(bounds, pairs))
            wanted = wanted.intersect_domain(one.domain).intersect_range(other.domain)
            wanted = _joined(wanted.intersect_params(self.one.scop.context))
        self.claims[key] = wanted
        new = wanted if known is None else wanted.subtract(known)
        self.waiting.append((*key, _joined(new), self.trail | {key}))

    def settle(self, one: str, other: str, pairs: Map, trail: Trail) -> None:
        """Check claims about two statements: one operation, over operands that agree."""
        mine, theirs = self.one.statements[one], self.other.statements[other]
        self.trail = trail
        self._operation(
            Head(self.one.value(mine), mine, stored=False, pairs=pairs),
            Head(self.other.value(theirs), theirs, stored=False, pairs=pairs),
        )

    def _match(self, one: Head, other: Head, cast: Cast | None = None) -> None:
        """Compare two operands, both of them of a conversion ``cast`` or of none; both have the
        same pairs."""
        for mine in _heads(self.one, one):
            cut = other._replace(pairs=mine.pairs)
            for theirs in self._without_conversion(mine, cut, cast):
                if mine.stored and theirs.stored and not _is_number(mine.expr):
                    self._claim(mine.owner, theirs.owner, theirs.pairs)
                else:
                    self._operation(mine._replace(pairs=theirs.pairs), theirs)

    def _without_conversion(self, mine: Head, other: Head, cast: Cast | None) -> Iterator[Head]:
        """The heads of the other's operand, without a conversion that the source has not."""
        for theirs in _heads(self.other, other):
            shorter = None if cast is None else _unconverted(cast.type, mine.expr, theirs.expr)
            if shorter is None:
                yield theirs
                continue
            yield from _heads(self.other, theirs._replace(expr=shorter, stored=False))

    # -- operations -------------------------------------------------------------------------

    def _operation(self, one: Head, other: Head) -> None:
        other = _as_narrow(_uncast(other, one), one)
        mine, theirs = one.expr, other.expr
        if _is_number(mine) and _is_number(theirs):
            self._numbers(one, other)
            return
        if isinstance(mine, Load) and isinstance(theirs, Load):
            self._given(mine, one, theirs, other)
            return
        same = type(mine) is type(theirs) and payload(mine) == payload(theirs)
        if not same or mine.type != theirs.type or len(mine.children) != len(theirs.children):
            raise _differ(one, other)
        if isinstance(mine, Inside) and isinstance(theirs, Inside):
            self._conditions(one, mine, other, theirs)
            return
        cast = mine if isinstance(mine, Cast) else None
        for a, b in zip(mine.children, theirs.children, strict=True):
            here, there = one._replace(expr=a, stored=False), other._replace(expr=b, stored=False)
            self._match(here, there, cast)

    def _numbers(self, one: Head, other: Head) -> None:
        """Two numbers that iterators and sizes give."""
        if one.expr.type.is_float or other.expr.type.is_float:
            same = one.expr.type == other.expr.type and payload(one.expr) == payload(other.expr)
        else:
            values = one.pairs.apply_domain(_value(one)).apply_range(_value(other))
            same = values.is_subset(Map.identity(values.get_space()))
        if not same:
            raise _differ(one, other)

    def _conditions(self, one: Head, mine: Inside, other: Head, theirs: Inside) -> None:
        here = mine.where.set_tuple_id(one.owner.space.get_tuple_id(dim_type.set))
        there = theirs.where.set_tuple_id(other.owner.space.get_tuple_id(dim_type.set))
        left, right = one.pairs.intersect_domain(here), one.pairs.intersect_range(there)
        if not left.is_equal(right):
            raise _differ(one, other)

    def _given(self, mine: Load, one: Head, theirs: Load, other: Head) -> None:
        """Two elements that hold what the caller gave."""
        if self.names.get(mine.array) != theirs.array:
            raise _differ(one, other)
        refs = (
            self.one.references[one.owner.name, id(mine)],
            self.other.references[other.owner.name, id(theirs)],
        )
        if not (self.one.exact[refs[0]] and self.other.exact[refs[1]]):
            for a, b in zip(mine.index, theirs.index, strict=True):
                self._match(
                    one._replace(expr=plain(a), stored=False),
                    other._replace(expr=plain(b), stored=False),
                )
            return
        here, there = (
            next(a.relation for a in head.owner.reads if a.ref == ref)
            for head, ref in zip((one, other), refs, strict=True)
        )
        pairs = one.pairs.apply_domain(here).apply_range(there)
        if not pairs.is_subset(self.elements(mine.array)):
            raise _differ(one, other)


def _joined(pairs: Map) -> Map:
    """The pairs in fewer pieces, where isl can join them: some stop it ("original tableau")."""
    try:
        return pairs.coalesce()
    except IslError:
        return pairs


def _common_bounds(known: Map, new: Map) -> Map:
    """The bounds of what is known that the new keeps: what grows step by step loses its end."""
    one, other = known.wrap(), new.wrap()
    result = Set.universe(one.get_space())
    for constraint in one.remove_divs().simple_hull().get_constraints():
        form = PwAff.from_aff(constraint.get_aff())
        for side in (form, form.neg()) if constraint.is_equality() else (form,):
            within = side.nonneg_set()
            if other.is_subset(within):
                result = result.intersect(within)
    return result.unwrap()


def _heads(side: _Side, head: Head) -> Iterator[Head]:
    """``side.heads``, where the value that a statement stores may be an operation already."""
    if head.stored and not _is_seen_through(head.expr):
        if not head.pairs.is_empty():
            yield head
        return
    yield from side.heads(head.expr, head.owner, head.pairs)


def _is_number(expr: Expr) -> bool:
    return isinstance(expr, (Const, Affine))


def _uncast(cut: Head, beside: Head) -> Head:
    """``(int32_t)N`` of the other program as ``N`` beside the source's number of that type.

    Both are what the type makes of their forms: they are equal where these are.
    """
    expr, number = cut.expr, beside.expr
    if not (isinstance(expr, Cast) and isinstance(number, Affine) and expr.type == number.type):
        return cut
    operand = expr.operand
    if not (expr.type.is_integer and operand.type.is_integer and _is_number(operand)):
        return cut
    return cut._replace(expr=operand) if operand.type.bits >= expr.type.bits else cut


def _unconverted(type_: ScalarType, mine: Expr, theirs: Expr) -> Expr | None:
    """``f`` where ``theirs`` is a float that is converted to a wider integer before it is one of
    ``type_``, as the source's float is: ``u8(i32(f))`` for ``u8(f)``.

    A float out of the range of an integer has no value there.
    """
    if not isinstance(theirs, Cast) or not theirs.type.is_integer or BOOL in {type_, theirs.type}:
        return None
    is_float = theirs.operand.type == mine.type and mine.type.is_float
    return theirs.operand if is_float and contains(theirs.type, type_) else None


def _as_narrow(cut: Head, beside: Head) -> Head:
    """``i32(f)`` of the other program as ``u8(f)`` beside that of the source: as whole numbers they
    are the same wherever the source's has a value."""
    wide, narrow = cut.expr, beside.expr
    if not isinstance(wide, Cast) or not isinstance(narrow, Cast) or wide.type == narrow.type:
        return cut
    if not wide.operand.type.is_float or wide.operand.type != narrow.operand.type:
        return cut
    if BOOL in {wide.type, narrow.type} or not contains(wide.type, narrow.type):
        return cut
    return cut._replace(expr=Cast(narrow.type, wide.operand))


def _value(head: Head) -> Map:
    """``{ S[i] -> [value] }`` of an integer that iterators and sizes give."""
    space = head.owner.space
    if isinstance(head.expr, Const):
        return Map.from_pw_aff(affine_constant(space, int(head.expr.value)))
    assert isinstance(head.expr, Affine)
    value = Map.from_pw_aff(head.expr.form)
    return value.set_tuple_id(dim_type.in_, space.get_tuple_id(dim_type.set))


def _differ(one: Head, other: Head) -> NotShownError:
    found = sample(one.pairs.wrap().flatten())
    at = f" at {found['set']} when sizes are {found['params']}" if found else ""
    return NotShownError(
        f"{one.owner.name} and {other.owner.name} (line {_line(other)}) may differ{at}: "
        f"{_word(one.expr)} against {_word(other.expr)}"
    )


def _line(head: Head) -> int:
    return head.owner.span.line if head.owner.span else 0


def _word(expr: Expr) -> str:
    return f"{type(expr).__name__} {payload(expr) or ''} {expr.type.name}"
