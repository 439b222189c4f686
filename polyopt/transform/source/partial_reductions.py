"""Validation of partial reductions: an update adds up what the source's does, by way of rows.

Shown of the result, which knows nothing of how it was made: what was added is told by its name,
what it holds by what writes it, and which instances stand for one of the source's by the names of
iterators. Whatever these say, it is a proof: the pairing has to be one to one, with equal values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.errors import IllegalScheduleError
from polyopt.ir.block import Block
from polyopt.ir.build import identity
from polyopt.ir.expr import Affine, Const, Expr, Inside, Load, RangeHint, payload
from polyopt.ir.scop import statements_in
from polyopt.isl import Map, PwMultiAff, dim_type
from polyopt.transform.source.separate_reduction import (
    alone_below,
    kept_loops,
    operand_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.ir.scop import Loop, Scop, Statement
    from polyopt.isl import Set


@dataclass(frozen=True, eq=False)
class Part:
    """An array of partial reductions: what sets its elements, and what updates them."""

    start: Statement
    update: Statement


def check_separated(
    source: Scop, scop: Scop, name: str, now: Statement, parts: Mapping[str, Part]
) -> None:
    """Show that ``now`` reduces by way of ``parts`` what the source's statement does.

    Raises ``IllegalScheduleError``.
    """
    check = _Check(source, scop, source.statement(name), now, parts)
    check.operations()
    check.pairing()
    check.values()
    check.places()


@dataclass(frozen=True, eq=False)
class _Check:
    """A statement of the source beside what it has become."""

    source: Scop
    scop: Scop
    own: Statement
    now: Statement
    parts: Mapping[str, Part]

    @cached_property
    def chain(self) -> tuple[Statement, ...]:
        """The statement, what updates the rows that it reads, the rows that these read, ..."""
        result = [self.now]
        while True:
            operand = _operand(result[-1])
            if not isinstance(operand, Load) or operand.array not in self.parts:
                return tuple(result)
            update = self.parts[operand.array].update
            if update in result:
                raise self.refused("it reads itself")
            result.append(update)

    def refused(self, why: str) -> IllegalScheduleError:
        message = f"{self.own.name} is no reduction over rows of what its source reads: {why}"
        return IllegalScheduleError(message, span=self.own.span)

    def operations(self) -> None:
        """One operation all along, which starts from what changes nothing."""
        op, type_ = self.own.reduction, self.own.value.type
        if op is None or type_.bits == 1 or isinstance(self.own.value, Block):
            raise self.refused("it is no update with one operation")
        for statement in self.chain:
            if statement.reduction != op or statement.value.type != type_:
                raise self.refused(f"{statement.name} has another operation")
        for update in self.chain[1:]:
            start = self.parts[update.array].start
            value = start.value
            if not isinstance(value, Const) or value.value != identity(op, type_).value:
                raise self.refused(f"{start.name} starts from another value")
            if value.type != type_ or start.spread:
                raise self.refused(f"{start.name} sets another element")

    @cached_property
    def relation(self) -> Map:
        """``{ S[z] -> T[b] }``: which of the last rows' updates stands for an instance."""
        return self._paired[0]

    def pairing(self) -> None:
        """Each instance of the source stands for one path of updates, and each path for one."""
        _, to_paths, paths = self._paired
        domain = self.own.domain.intersect_params(self.scop.context)
        if not (to_paths.is_single_valued() and to_paths.is_injective()):
            raise self.refused("rows are not one to one")
        if not to_paths.domain().is_equal(domain) or not to_paths.range().is_equal(paths):
            raise self.refused("it has more or less to add up")

    @cached_property
    def _paired(self) -> tuple[Map, Map, Set]:
        context = self.scop.context
        own = self.own.domain.intersect_params(context)
        first = self.now
        step = _by_name(self.own, first).intersect_domain(own)
        step = step.intersect_range(first.domain.intersect_params(context))
        to_paths, paths, last = step, first.domain.intersect_params(context), step
        written = self.own.write.relation.intersect_params(context)
        if not step.apply_range(first.write.relation).is_equal(written):
            raise self.refused("it updates other elements")
        if not step.range().is_equal(first.domain.intersect_params(context)):
            raise self.refused("it updates more")
        for reader, update in zip(self.chain, self.chain[1:], strict=False):
            reads = [a for a in reader.reads if a.array == update.array]
            if len(reads) != 1 or not reads[0].exact:
                raise self.refused(f"{reader.name} reads rows more than once")
            runs = update.domain.intersect_params(context)
            made = reads[0].relation.intersect_params(context)
            cells = self.parts[update.array].start.write.relation.intersect_params(context)
            if not made.range().is_subset(cells.range()):
                raise self.refused(f"{reader.name} reads rows that nothing sets")
            made = made.apply_range(update.write.relation.reverse()).intersect_range(runs)
            inner = range(len(update.index), len(update.iterators))
            named = _by_name(self.own, update, inner).intersect_domain(own)
            last = last.apply_range(made).intersect(named.intersect_range(runs))
            onward = made if reader is first else paths.unwrap().range_map().apply_range(made)
            paths, to_paths = onward.wrap(), to_paths.range_product(last)
        return last, to_paths, paths

    def values(self) -> None:
        """What the last rows read is what the source's statement reads."""
        operand, other = operand_of(self.own), _operand(self.chain[-1])
        if operand is None or other is None:
            raise self.refused("it reads what it writes")
        last = PwMultiAff.from_map(self.relation)
        if not self._same(operand, other, last):
            raise self.refused("it has other values")

    def _same(self, one: Expr, other: Expr, there: PwMultiAff) -> bool:
        if type(one) is not type(other) or one.type != other.type:
            return False
        domain = self.own.domain.intersect_params(self.scop.context)
        if isinstance(one, Affine) and isinstance(other, Affine):
            moved = other.form.pullback_pw_multi_aff(there)
            return moved.is_equal(one.form.intersect_domain(domain))
        if isinstance(one, Inside) and isinstance(other, Inside):
            moved = other.where.preimage_pw_multi_aff(there)
            return moved.is_equal(one.where.intersect(domain))
        if isinstance(one, RangeHint) and isinstance(other, RangeHint):
            ends = (one.low, other.low), (one.high, other.high)
            if not all(a.is_equal(b) for a, b in ends):
                return False
        if payload(one) != payload(other) or len(one.children) != len(other.children):
            return False
        pairs = zip(one.children, other.children, strict=True)
        return all(self._same(a, b, there) for a, b in pairs)

    def places(self) -> None:
        """Rows are complete before they are read, and nothing that they read is written since."""
        for nest, statement in ((self.source.nest, self.own), (self.scop.nest, self.now)):
            kept = kept_loops(statement)
            if kept is None or not alone_below(nest, statement.name, kept):
                raise self.refused("its updates of an element have others in between")
        tops = [self._top(statement) for statement in self.chain]
        if sorted(tops, reverse=True) != tops or len(set(tops)) < len(tops):
            raise self.refused("rows are read before they are complete")
        for update, top in zip(self.chain[1:], tops[1:], strict=True):
            self._complete(self.parts[update.array], self.scop.nest[top])
        read = {a.array for a in self.chain[-1].reads} - {self.chain[-1].array}
        since = self.scop.nest[tops[-1] : tops[0] + 1]
        names = {name for node in since for name in statements_in(node)}
        if any(s.array in read for s in self.scop.statements if s.name in names):
            raise self.refused("what rows are made of is written before they are read")

    def _top(self, statement: Statement) -> int:
        places = [k for k, n in enumerate(self.scop.nest) if statement.name in statements_in(n)]
        if len(places) != 1:
            raise self.refused(f"{statement.name} is not there once")
        return places[0]

    def _complete(self, part: Part, node: Loop | str) -> None:
        """One nest sets each element, then updates it."""
        start, update = part.start, part.update
        depth = len(update.index)
        same_cells = kept_loops(start) == depth == kept_loops(update) == len(start.iterators)
        body: Sequence[Loop | str] = (node,)
        for _ in range(depth):
            if len(body) != 1 or isinstance(body[0], str):
                raise self.refused(f"{update.array} has no nest of its own")
            body = body[0].body
        inside = [[*statements_in(child)] for child in body]
        if not same_cells or inside != [[start.name], [update.name]]:
            raise self.refused(f"{update.array} has no nest of its own")
        cells = start.write.relation.intersect_params(self.scop.context).range()
        if not cells.is_subset(self.scop.elements[update.array]):
            raise self.refused(f"{update.array} has no room for its rows")
        if not update.write.relation.intersect_params(self.scop.context).range().is_subset(cells):
            raise self.refused(f"{start.name} does not set all of {update.array}")


def _operand(statement: Statement) -> Expr | None:
    return None if statement.reduction is None else operand_of(statement)


def _by_name(own: Statement, other: Statement, positions: Sequence[int] | None = None) -> Map:
    """``{ S[z] -> T[b] }``: iterators of one name are equal; those at ``positions``, or all."""
    space = own.space.map_from_domain_and_range(other.space)
    result = Map.universe(space)
    for k in range(len(other.iterators)) if positions is None else positions:
        name = other.iterators[k]
        if name in own.iterators:
            result = result.equate(dim_type.in_, own.iterators.index(name), dim_type.out, k)
    return result
