"""Validation of tabulation: what looks values up computes, with these in place of the lookups, what
its source does.

Shown of the result, which knows nothing of how it was made: tables are arrays that were added, each
written by one statement; the value of that one is put where it is read, its iterators being what
it is read at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.errors import IllegalScheduleError
from polyopt.ir.block import Block
from polyopt.ir.expr import Affine, Cast, Expr, Inside, Load, RangeHint, same_expr, walk
from polyopt.ir.index_bounds import index_bounds
from polyopt.ir.indices import surely_evaluated
from polyopt.ir.same import same_target
from polyopt.ir.scop import statements_in
from polyopt.ir.types import contains
from polyopt.isl import Map, affine_constant, affine_var, dim_type, joined_values
from polyopt.transform.source.forwarding import forwarding_of
from polyopt.transform.source.tabulate import may_fail

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from polyopt.ir.scop import Loop, Scop, Statement
    from polyopt.isl import PwAff, PwMultiAff, Set


class _OtherValueError(Exception):
    """A lookup that no value of the table can stand for."""


def without_tables(source: Scop, scop: Scop) -> tuple[Scop, tuple[str, ...]]:
    """The program with tables looked up no more, and their names; the program itself if there are
    none. Raises ``IllegalScheduleError`` where a table is not what its source computes."""
    check = _Tables(source, scop)
    if not check.tables:
        return scop, ()
    check.readers()
    check.places()
    check.elements()
    return check.plain(), tuple(check.tables)


@dataclass(frozen=True, eq=False)
class _Tables:
    """A program beside the one that was given."""

    source: Scop
    scop: Scop

    @cached_property
    def makers(self) -> Mapping[str, Statement]:
        """Arrays that may be tables: added, and written by one statement at its own iterators."""
        added = {a.name for a in self.scop.arrays if a.role == "temp" and not a.private}
        added -= {a.name for a in self.source.arrays}
        written = [s.array for s in self.scop.statements]
        return {
            s.array: s
            for s in self.scop.statements
            if s.array in added and written.count(s.array) == 1 and _is_table(s)
        }

    @cached_property
    def own(self) -> Mapping[str, Statement]:
        """The source's statements that computed what they look up now."""
        known = {s.name: s for s in self.source.statements}
        result: dict[str, Statement] = {}
        for now in self.scop.statements:
            own = known.get(now.name)
            if own is None or own is now or isinstance(now.value, Block):
                continue
            if self._looked_up(now) and self._is_same(now, own):
                result[now.name] = own
        return result

    @cached_property
    def tables(self) -> Mapping[str, Statement]:
        """The tables that these look up, those that tables look up, ..."""
        known = {s.name: s for s in self.scop.statements}
        result: dict[str, Statement] = {}
        waiting = [name for reader in self.own for name in self._looked_up(known[reader])]
        while waiting:
            name = waiting.pop()
            if name not in result:
                result[name] = self.makers[name]
                waiting += self._looked_up(self.makers[name])
        return result

    def _looked_up(self, statement: Statement) -> list[str]:
        return [a.array for a in statement.reads if a.array in self.makers]

    def _is_same(self, now: Statement, own: Statement) -> bool:
        if not same_target(now, own):
            return False
        try:
            value = self._expanded(now.value, now)
        except _OtherValueError:
            return False
        if same_expr(value, own.value):
            return True
        through = forwarding_of(self.source).forwarded
        return same_expr(through(value, own), through(own.value, own))

    # -- values -----------------------------------------------------------------------------

    def _expanded(self, node: Expr, reader: Statement) -> Expr:
        """A value with what tables hold in place of lookups. Raises ``_OtherValueError``."""
        if isinstance(node, RangeHint) and self._is_lookup(node.operand):
            value = self._expanded(node.operand, reader)
            bounds = index_bounds(value, reader.space)
            hints = (node.low, node.high)
            for bound, hint in zip(bounds, hints, strict=True):
                if bound is None or not bound.is_equal(hint.insert_domain(reader.space)):
                    raise _OtherValueError
            return value
        children = tuple(self._expanded(child, reader) for child in node.children)
        if isinstance(node, Load) and node.array in self.makers:
            maker = self.makers[node.array]
            return _Substitution(reader, maker, children).of(self._expanded(maker.value, maker))
        if all(new is old for new, old in zip(children, node.children, strict=True)):
            return node
        return node.with_children(children)

    def _is_lookup(self, node: Expr) -> bool:
        return isinstance(node, Load) and node.array in self.makers

    # -- places -----------------------------------------------------------------------------

    def readers(self) -> None:
        """Show that nothing else reads a table."""
        for statement in self.scop.statements:
            if statement.name in self.own or statement.array in self.tables:
                continue
            for name in self._looked_up(statement):
                if name in self.tables:
                    raise _refused(
                        f"{statement.name} reads {name}, and is something else", statement
                    )

    def places(self) -> None:
        """Show that each table is computed before it is read, and what it reads stays the same."""
        at = {
            name: place for place, node in enumerate(self.scop.nest) for name in statements_in(node)
        }
        order = [*at]
        for name, maker in self.tables.items():
            readers = [s.name for s in self.scop.statements if name in (a.array for a in s.reads)]
            first = min((at[r], order.index(r)) for r in readers)
            if (at[maker.name], order.index(maker.name)) >= first or at[maker.name] == first[0]:
                raise _refused(f"{name} is not computed before it is read", maker)
            last = max(at[r] for r in readers)
            inputs = {a.array for a in maker.reads}
            for other in self.scop.statements:
                if other.array in inputs and at[maker.name] <= at[other.name] <= last:
                    raise _refused(f"{other.name} writes what {name} holds values of", other)

    def elements(self) -> None:
        """Show that what is looked up was computed, and what tables read is there."""
        context = self.scop.context
        for statement in self.scop.statements:
            for access in statement.reads:
                if access.array not in self.tables:
                    continue
                cells = self.tables[access.array].domain.set_tuple_name(access.array)
                touched = access.relation.intersect_params(context).range()
                if not touched.is_subset(cells):
                    raise _refused(f"an element of {access.array} is not computed", statement)
        for maker in self.tables.values():
            for access in maker.reads:
                touched = access.relation.intersect_params(context).range()
                if not touched.is_subset(self.scop.elements[access.array]):
                    raise _refused(
                        f"an element of {access.array} that it reads is not there", maker
                    )
            self._failures(maker)

    def _failures(self, maker: Statement) -> None:
        """Show that what can fail is done where the source does it, too."""
        for node in walk(self._expanded(maker.value, maker)):
            if not may_fail(node):
                continue
            used = _dimensions(node, len(maker.iterators))
            cells = _onto(maker.domain, used).intersect_params(self.scop.context)
            for done in self._done(maker, used):
                cells = cells.subtract(done)
            if not cells.is_empty():
                raise _refused("it does what may fail where its source does not", maker)

    def _done(self, maker: Statement, used: tuple[int, ...]) -> Iterator[Set]:
        """``{ T[x] }``, projected on some dimensions: the elements that readers look up whatever
        the data."""
        for reader in self.scop.statements:
            for node in surely_evaluated(reader.value):
                if not isinstance(node, Load) or node.array != maker.array:
                    continue
                at = [node.index[k] for k in used]
                if all(isinstance(x, Affine) for x in at):
                    forms = [x.form for x in at if isinstance(x, Affine)]
                    yield _image(reader, forms, maker.name)

    def plain(self) -> Scop:
        """The program with the source's statements, without tables."""
        made = {maker.name for maker in self.tables.values()}
        nest: list[Loop | str] = []
        for node in self.scop.nest:
            inside = set(statements_in(node))
            if inside & made and not inside <= made:
                raise _refused("a table has no nest of its own")
            if not inside & made:
                nest.append(node)
        return replace(
            self.scop,
            arrays=tuple(a for a in self.scop.arrays if a.name not in self.tables),
            statements=tuple(
                self.own.get(s.name, s) for s in self.scop.statements if s.name not in made
            ),
            nest=tuple(nest),
        )


@dataclass(frozen=True, eq=False)
class _Substitution:
    """Puts what an array is read at in place of the iterators of what computes it."""

    reader: Statement
    maker: Statement
    index: tuple[Expr, ...]

    @cached_property
    def there(self) -> PwMultiAff:
        """``{ S[i] -> T[x] }``, zero where data choose."""
        space = self.reader.space
        zero = affine_constant(space, 0)
        parts = [x.form if isinstance(x, Affine) else zero for x in self.index]
        return joined_values(parts, self.maker.name)

    @cached_property
    def chosen(self) -> tuple[int, ...]:
        """The dimensions that data choose."""
        return tuple(k for k, x in enumerate(self.index) if not isinstance(x, Affine))

    def of(self, node: Expr) -> Expr:
        """The value in terms of the reader's iterators. Raises ``_OtherValueError``."""
        if isinstance(node, Affine):
            used = [k for k in self.chosen if node.form.involves_dims(dim_type.in_, k, 1)]
            if used:
                return self._key(node, used[0])
            return replace(node, form=node.form.pullback_pw_multi_aff(self.there))
        if isinstance(node, Inside):
            if any(node.where.involves_dims(dim_type.set, k, 1) for k in self.chosen):
                raise _OtherValueError
            return replace(node, where=node.where.preimage_pw_multi_aff(self.there))
        return node.with_children(tuple(map(self.of, node.children)))

    def _key(self, node: Affine, position: int) -> Expr:
        """What an iterator of the table is: the subscript there, widened or not."""
        key = self.index[position]
        if isinstance(key, Cast) and key.type != node.type and contains(key.type, key.operand.type):
            key = key.operand
        own = affine_var(node.form.get_domain_space(), position)
        if key.type != node.type or not node.form.is_equal(own):
            raise _OtherValueError
        return key


def _is_table(statement: Statement) -> bool:
    """Whether a statement writes what it computes at its own iterators, and reads nothing of it."""
    if isinstance(statement.value, Block) or statement.spread:
        return False
    whole = len(statement.index) == len(statement.iterators) and statement.is_own(statement.index)
    return whole and statement.array not in {a.array for a in statement.reads}


def _dimensions(node: Expr, count: int) -> tuple[int, ...]:
    """The dimensions that a value depends on."""
    parts = [*walk(node)]
    return tuple(
        k
        for k in range(count)
        if any(isinstance(p, Affine) and p.form.involves_dims(dim_type.in_, k, 1) for p in parts)
        or any(isinstance(p, Inside) and p.where.involves_dims(dim_type.set, k, 1) for p in parts)
    )


def _onto(cells: Set, used: tuple[int, ...]) -> Set:
    """A set projected on some of its dimensions."""
    for k in reversed(range(cells.dim(dim_type.set))):
        if k not in used:
            cells = cells.project_out(dim_type.set, k, 1)
    return cells.reset_tuple_id()


def _image(reader: Statement, forms: list[PwAff], name: str) -> Set:
    """``{ [x] }``, what subscripts are over all instances; all points of no dimensions if none."""
    if not forms:
        return reader.domain.project_out(dim_type.set, 0, len(reader.iterators)).reset_tuple_id()
    there = joined_values(forms, name)
    return reader.domain.apply(Map.from_pw_multi_aff(there)).reset_tuple_id()


def _refused(why: str, statement: Statement | None = None) -> IllegalScheduleError:
    span = statement.span if statement else None
    return IllegalScheduleError(f"the program is not its source with tables: {why}", span=span)
