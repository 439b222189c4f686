"""Validation of source-level rewrites: a program is the one that was given, but for these.

``separate_filter`` adds an array for the first pass of a sum, ``separate_reduction`` one for
partial reductions, ``tabulate`` some for parts of values, ``clone_stage`` one that holds what
another does, ``scatter_updates`` exchanges the two innermost loops of a statement,
``eliminate_dead_stores`` leaves out what is of no use. Here that is shown of the result, which
knows nothing of how it was made: arrays that were added are told by their names, what they hold by
what writes them, and statements that were turned by their instances.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.errors import IllegalScheduleError, InternalError
from polyopt.ir.block import Block
from polyopt.ir.expr import Expr, Load, loads, payload, rewrite, same_expr
from polyopt.ir.same import same_target
from polyopt.ir.scop import statements_in
from polyopt.ir.verify import verify
from polyopt.isl import budget
from polyopt.memo import Same, memory
from polyopt.transform.legality.dead_stores import check_eliminated, is_part
from polyopt.transform.legality.equivalence import NotShownError, check_same
from polyopt.transform.legality.parallel import Obligation
from polyopt.transform.source.clone_stage import over
from polyopt.transform.source.linear_combination import agree, expanded, terms
from polyopt.transform.source.partial_reductions import Part, check_separated
from polyopt.transform.source.scatter_updates import check_scattered, not_scattered, turned
from polyopt.transform.source.table_lookups import without_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polyopt.ir.scop import Loop, Scop, Statement

#: isl operations that the comparison may take
BUDGET = 20_000_000


def source_shown(source: Scop, scop: Scop) -> tuple[Obligation, ...]:
    """What was shown of a program that moves have changed; nothing for the source itself.

    Raises ``IllegalScheduleError`` where it computes something else.
    """
    if scop is source:
        return ()
    known, key = memory(scop, "source"), Same(source)
    if key not in known:
        with budget(BUDGET, "what changed the program"):
            known[key] = check_source(source, scop)
    return known[key]


def check_source(source: Scop, scop: Scop) -> tuple[Obligation, ...]:
    """Show that ``scop`` is ``source`` but for sums in passes, partial reductions, arrays computed
    once more, and updates in another order; or, with other loops, that it has the same results.

    *Requires* that what was added has a nest of its own: that of a pass right before the nest that
    reads it, that of a clone right after the nest of what it clones. Then nothing that it
    reads is written in between. Raises ``IllegalScheduleError``.
    """
    plain, tables = without_tables(source, scop)
    if tables:
        detail = f"looked up in tables of what the source computes there: {', '.join(tables)}"
        return (Obligation("tables", detail), *check_source(source, plain))
    if is_part(source, scop):
        return (check_eliminated(source, scop),)
    check = _Check(source, scop)
    try:
        check.arrays_and_loops()
    except IllegalScheduleError as other_loops:
        return _same_values(source, scop, other_loops)
    scattered = [name for name in check.known if check.is_turned(name)]
    separated = check.separated
    for name in separated:
        check_separated(source, scop, name, check.statements[name], check.parts)
    rest = [name for name in check.known if name not in {*scattered, *separated}]
    changed = [name for name in rest if check.changes(name)]
    check.places()
    found: list[Obligation] = []
    if scattered:
        check_scattered(source, scop, scattered)
        detail = f"scattered in the order of all that clashes with them: {', '.join(scattered)}"
        found.append(Obligation("updates", detail))
    if changed:
        detail = f"added up in passes with the source's weights: {', '.join(changed)}"
        found.append(Obligation("sums", detail))
    if separated:
        detail = f"reduced over rows that hold what the source reads: {', '.join(separated)}"
        found.append(Obligation("reductions", detail))
    freed = [name for name in separated if check.known[name].value.type.is_float]
    if freed:
        detail = f"floats in another order, which round otherwise: {', '.join(freed)}"
        found.append(Obligation("reassociated", detail))
    if check.clones:
        pairs = ", ".join(f"{clone} as {array}" for clone, array in check.clones.items())
        found.append(Obligation("clones", f"computed by the same statement: {pairs}"))
    return tuple(found)


def _same_values(source: Scop, scop: Scop, unlike: IllegalScheduleError) -> tuple[Obligation, ...]:
    """Show of a program with other loops that each result has the source's value, as followed
    through arrays and copies. Raises what it is ``unlike`` its source for, or the difference."""
    if scop.signature != source.signature or scop.params != source.params:
        raise unlike
    given = [[a for a in s.arrays if a.role != "temp"] for s in (source, scop)]
    if given[0] != given[1]:
        raise unlike
    try:
        verify(scop)
    except InternalError:
        raise unlike from None
    try:
        claims = check_same(source, scop, {a.name: a.name for a in given[0]})
    except NotShownError as error:
        raise _refused(str(error)) from None
    return (Obligation("values", f"each result has its source's value ({claims} claims)"),)


@dataclass(frozen=True, eq=False)
class _Check:
    """A program beside the one that was given."""

    source: Scop
    scop: Scop

    @cached_property
    def known(self) -> Mapping[str, Statement]:
        """The statements that were given, by name."""
        return {s.name: s for s in self.source.statements}

    @cached_property
    def added(self) -> Mapping[str, Statement]:
        """Arrays that were added and one statement writes, with that one."""
        return {a: s[0] for a, s in self._writers.items() if len(s) == 1}

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """Arrays that were added for partial reductions, with what sets and what updates them."""
        return {a: Part(*s) for a, s in self._writers.items() if len(s) == 2}

    @cached_property
    def made(self) -> set[str]:
        """The statements that were added."""
        return {s.name for written in self._writers.values() for s in written}

    @cached_property
    def _writers(self) -> Mapping[str, list[Statement]]:
        found: dict[str, list[Statement]] = {}
        for statement in self.scop.statements:
            if statement.name not in self.known:
                found.setdefault(statement.array, []).append(statement)
        return found

    @cached_property
    def clones(self) -> Mapping[str, str]:
        """Arrays that were added and hold what another does, with that one."""
        result: dict[str, str] = {}
        for array, maker in self.added.items():
            others = (s for s in self.scop.statements if s is not maker and s.array not in result)
            found = next((s.array for s in others if _is_clone(maker, s)), "")
            if found and sum(s.array == found for s in self.scop.statements) == 1:
                result[array] = found
        return result

    @cached_property
    def statements(self) -> Mapping[str, Statement]:
        """The statements with clones read as what they are clones of."""

        def original(expr: Expr) -> Expr:
            if isinstance(expr, Load) and expr.array in self.clones:
                return replace(expr, array=self.clones[expr.array])
            return expr

        reading = {
            s.name: any(a.array in self.clones for a in s.reads) for s in self.scop.statements
        }
        return {
            s.name: replace(s, value=rewrite(s.value, original)) if reading[s.name] else s
            for s in self.scop.statements
        }

    @cached_property
    def passes(self) -> dict[str, Statement]:
        """Arrays that were added and are no clones, with what writes them."""
        return {a: self.statements[s.name] for a, s in self.added.items() if a not in self.clones}

    def arrays_and_loops(self) -> None:
        """Show that nothing is missing, and nothing else is there."""
        if len(self.statements) < len(self.scop.statements):
            raise _refused("it has two statements of one name")
        same = self.scop.params == self.source.params and (
            self.scop.context is self.source.context
            or self.scop.context.is_equal(self.source.context)
        )
        if not same or self.scop.signature != self.source.signature:
            raise _refused("its sizes are not the source's")
        names = {a.name for a in self.scop.arrays} - {a.name for a in self.source.arrays}
        given = all(any(a is b for b in self.scop.arrays) for a in self.source.arrays)
        if names != {*self.added, *self.parts} or not given:
            raise _refused("its arrays are not the source's")
        if any(a.role != "temp" for a in self.scop.arrays if a.name in names):
            raise _refused("its arguments are not the source's")
        made, alone = self.made, set(self.separated)
        if _skeleton(self.scop.nest, made, alone) != _skeleton(self.source.nest, set(), alone):
            raise _refused("its loops are not the source's")
        if set(self.known) | made != set(self.statements):
            raise _refused("a statement of the source is missing")

    def is_turned(self, name: str) -> bool:
        """Whether a statement is the source's with its two innermost loops exchanged."""
        own, now = self.known[name], self.statements[name]
        if own is now or not_scattered(self.source, own) or isinstance(now.value, Block):
            return False
        return _is_like(now, turned(own)) and not _is_like(now, own)

    @cached_property
    def separated(self) -> tuple[str, ...]:
        """The statements of the source that read partial reductions."""
        now = {name: self.statements[name] for name in self.known if name in self.statements}
        return tuple(
            name
            for name, own in self.known.items()
            if now.get(name, own) is not own
            and any(access.array in self.parts for access in now[name].reads)
        )

    def changes(self, name: str) -> bool:
        """Whether a statement adds up in passes; raises where it computes something else."""
        own, now = self.known[name], self.statements[name]
        if own is now:
            return False
        if not same_target(own, now) or not self._same(own.value, own, now.value, now):
            raise _refused(f"{name} is something else", own)
        return any(access.array in self.passes for access in now.reads)

    def _same(self, one: Expr, own: Statement, other: Expr, now: Statement) -> bool:
        """Whether two values are the same but for sums in passes."""
        if isinstance(one, Block) or isinstance(other, Block) or one.type != other.type:
            return False
        if not any(load.array in self.passes for load in loads(other)):
            return same_expr(one, other)
        mine, theirs = terms(one), terms(other)
        if mine is not None and theirs is not None:
            sums = (
                expanded(mine, own, {}, self.scop),
                expanded(theirs, now, self.passes, self.scop),
            )
            return agree(*sums, one.type.bits)
        alike = type(one) is type(other) and payload(one) == payload(other)
        if not alike or isinstance(one, Load) or len(one.children) != len(other.children):
            return False
        pairs = zip(one.children, other.children, strict=True)
        return all(self._same(a, own, b, now) for a, b in pairs)

    def places(self) -> None:
        """Show that what was added stands where it reads what the source would read."""
        order = [[*statements_in(node)] for node in self.scop.nest]
        made = self.made
        for array, maker in self.added.items():
            if [maker.name] not in order or sum(s.array == array for s in self.scop.statements) > 1:
                raise _refused(f"{array} has no nest of its own", maker)
            place = order.index([maker.name])
            before = [n for n in order[:place] if not made.intersection(n)][-1:]
            after = [n for n in order[place + 1 :] if not made.intersection(n)][:1]
            if array in self.clones:
                (clone,) = (s for s in self.scop.statements if s.array == self.clones[array])
                if before != [[clone.name]]:
                    raise _refused(f"{array} is not computed right after {clone.array}", maker)
            elif not self._feeds(array, order[place + 1 :], after):
                raise _refused(f"{array} is not computed right before it is read", maker)

    def _feeds(self, array: str, later: list[list[str]], after: list[list[str]]) -> bool:
        """Whether all that reads a pass is one nest: that of the next statement of the source, or
        a pass before it."""
        readers = {s.name for s in self.scop.statements if any(a.array == array for a in s.reads)}
        near = [*later[: later.index(after[0])], after[0]] if after else later
        return [sorted(readers)] in ([sorted(names)] for names in near)


def _is_like(one: Statement, other: Statement) -> bool:
    """Whether two statements of one name have the same instances and do the same in each."""
    return same_target(one, other) and same_expr(one.value, other.value)


def _is_clone(maker: Statement, other: Statement) -> bool:
    """Whether two statements compute the same elements from the same ones."""
    if other.array in {a.array for a in other.reads} or isinstance(other.value, Block):
        return False
    if maker.spread or other.spread or len(maker.iterators) != len(other.iterators):
        return False
    same_domain = maker.domain.set_tuple_name(other.name).is_equal(other.domain)
    return (
        same_domain
        and len(maker.index) == len(other.index)
        and all(
            same_expr(over(a, other.space), b)
            for a, b in zip(maker.index, other.index, strict=True)
        )
        and same_expr(over(maker.value, other.space), other.value)
    )


def _skeleton(nest: tuple[Loop | str, ...], without: set[str], alone: set[str]) -> list[object]:
    """Loops and statements without some of these, and without loops that then are empty; without
    the loops of ``alone`` statements that have nothing else in them, too."""
    result: list[object] = []
    for node in nest:
        if isinstance(node, str):
            result += [node] if node not in without else []
        elif inside := _skeleton(node.body, without, alone):
            is_alone = any(inside == [name] for name in alone)
            result += inside if is_alone else [(node.step, inside)]
    return result


def _refused(why: str, statement: Statement | None = None) -> IllegalScheduleError:
    message = f"the program after a move that changes it is not its source: {why}"
    return IllegalScheduleError(message, span=statement.span if statement else None)
