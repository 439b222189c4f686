"""Validation of dead store elimination: what was left out of a program was of no use in it.

Shown of the result, which knows nothing of how it was made. An instance that is gone falls under
one of two rules, each decided exactly, for all sizes:

- *it changed nothing*: a plain copy to an element from another one that holds a copy of it, where
  nothing writes to either between the two. Without such, the source is the same at all times.
- *nothing sees it*: in what is left of the source then, no instance of the result reads what it
  wrote, and it is not the last to write to an element of an array that the caller sees.

So each instance that stays reads what it read, and each result holds what it held.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from polyopt.analysis.dependences import in_order, reads_within, timed
from polyopt.errors import IllegalScheduleError, LiveOutError, OrderViolatedError, Witness
from polyopt.ir.block import Block
from polyopt.ir.expr import Load, same_expr
from polyopt.isl import (
    UnionMap,
    UnionSet,
    dim_type,
    empty_map,
    empty_set,
    instance_of,
    last_writes,
    maps_of,
    tuple_name,
    union_all,
)
from polyopt.memo import memo
from polyopt.transform.legality.parallel import Obligation

if TYPE_CHECKING:
    from polyopt.ir.scop import Loop, Scop, Statement
    from polyopt.isl import Map


@memo
def is_part(source: Scop, scop: Scop) -> bool:
    """Whether a program is another one as it stands, without some of its instances."""
    same = (
        scop.params == source.params
        and scop.signature == source.signature
        and (scop.context is source.context or scop.context.is_equal(source.context))
        and len(scop.arrays) == len(source.arrays)
        and all(a is b for a, b in zip(scop.arrays, source.arrays, strict=True))
    )
    known = {s.name: s for s in source.statements}
    names = [s.name for s in scop.statements]
    if not same or len({*names}) < len(names) or not {*names} <= known.keys():
        return False
    if not all(_is_part(known[now.name], now, source) for now in scop.statements):
        return False
    if _skeleton(source.nest, {*names}) != _skeleton(scop.nest, {*names}):
        return False
    return not source.domain.is_subset(scop.domain)


def _is_part(own: Statement, now: Statement, source: Scop) -> bool:
    """Whether a statement does what another one does, in some of its instances."""
    if now is own:
        return True
    if isinstance(own.value, Block) or isinstance(now.value, Block) or own.spread or now.spread:
        return False
    same = (
        now.array == own.array
        and now.iterators == own.iterators
        and len(now.index) == len(own.index)
        and all(map(same_expr, own.index, now.index))
        and same_expr(own.value, now.value)
    )
    return same and now.domain.intersect_params(source.context).is_subset(own.domain)


def _skeleton(nest: tuple[Loop | str, ...], names: set[str]) -> list[object]:
    """Loops around some statements, and these."""
    result: list[object] = []
    for node in nest:
        if isinstance(node, str):
            result += [node] if node in names else []
        elif inside := _skeleton(node.body, names):
            result.append((node.iterator, node.step, inside))
    return result


def check_eliminated(source: Scop, scop: Scop) -> Obligation:
    """Show that a program is its source but for stores that are of no use.

    Raises ``LiveOutError`` where a result would not have its value, ``OrderViolatedError`` where a
    read would get another one, ``IllegalScheduleError`` where more has changed.
    """
    if not is_part(source, scop):
        message = "the program is not its source without dead stores: something else has changed"
        raise IllegalScheduleError(message)
    check = _Check(source, scop)
    check.results()
    check.reads()
    return Obligation("dead stores", check.told())


@dataclass(frozen=True, eq=False)
class _Check:
    """A program beside what it is a part of."""

    source: Scop
    scop: Scop

    @cached_property
    def gone(self) -> UnionSet:
        """``{ S[i] }``: the instances that were left out."""
        return self.source.domain.subtract(self.scop.domain)

    # -- what changed nothing ---------------------------------------------------------------

    @cached_property
    def unchanging(self) -> UnionSet:
        """``{ T[j] }``: those of them that copy to an element what it holds."""
        copies = [s for s in self.source.statements if _is_copy(self.source, s)]
        found = empty_set()
        for back in copies:
            missing = self.gone.extract_set(back.space)
            if missing.is_empty():
                continue
            for there in copies:
                if _source(there) == back.array and _source(back) == there.array:
                    found = found.union(self._returned(there, back).range())
        return found.intersect(self.gone)

    def _returned(self, there: Statement, back: Statement) -> UnionMap:
        """``{ S[i] -> T[j] }``: a copy of an element to another one, and the copy back of that,
        with no write to either in between."""
        origin = there.reads[0].relation.to_union_map()
        copy = there.write.relation.to_union_map()
        last = back.domain.intersect(self.gone.extract_set(back.space)).to_union_set()
        read = back.reads[0].relation.to_union_map().intersect_domain(last)
        written = back.write.relation.to_union_map().intersect_domain(last)
        pairs = copy.apply_range(read.reverse()).intersect(origin.apply_range(written.reverse()))
        pairs = in_order(self.source, pairs.intersect_params(self.source.context))
        return pairs.subtract(self._disturbed(copy, read)).subtract(
            self._disturbed(origin, written)
        )

    def _disturbed(self, first: UnionMap, last: UnionMap) -> UnionMap:
        """``{ S[i] -> T[j] }``: another write between them to the element that both are about."""
        writes = self.source.writes
        after = in_order(self.source, first.apply_range(writes.reverse()))
        before = in_order(self.source, writes.apply_range(last.reverse()))
        return after.apply_range(before)

    # -- what nothing sees ------------------------------------------------------------------

    @cached_property
    def unseen(self) -> UnionSet:
        """``{ S[i] }``: those that have to be seen by nothing."""
        return self.gone.subtract(self.unchanging)

    @cached_property
    def _arrays(self) -> frozenset[str]:
        """Those that the unseen would write to."""
        writes = self.source.writes.intersect_domain(self.unseen)
        return frozenset(
            tuple_name(part, dim_type.out) for part in maps_of(writes) if not part.is_empty()
        )

    @cached_property
    def _writes(self) -> UnionMap:
        """``{ S[i] -> A[x] }``: the writes to these arrays of what changes something."""
        return self._to(self.source.writes.subtract_domain(self.unchanging), self._arrays)

    def _to(self, accesses: UnionMap, arrays: frozenset[str]) -> UnionMap:
        return union_all(p for p in maps_of(accesses) if tuple_name(p, dim_type.out) in arrays)

    def results(self) -> None:
        """Show that none of the unseen leaves its value in a result. Raises ``LiveOutError``."""
        kept = frozenset(a for a in self._arrays if self.source.array(a).is_live_out)
        writes = self._to(self._writes, kept)
        if writes.is_empty():
            return
        times = timed(self.source, empty_map(), writes)
        again = last_writes(writes, writes, times).pairs.domain()
        lost = writes.subtract_domain(again).intersect_domain(self.unseen)
        for part in maps_of(lost):
            if not part.is_empty():
                array = tuple_name(part, dim_type.out)
                message = f"the last value of {array} would not be the original one"
                raise LiveOutError(message, witnesses=_witness(part, f"end:{array}"))

    def reads(self) -> None:
        """Show that no instance of the result reads what one of the unseen wrote.

        Raises ``OrderViolatedError``.
        """
        reads = self._to(reads_within(self.scop), self._arrays)
        if reads.is_empty():
            return
        found = last_writes(reads, self._writes, timed(self.source, reads, self._writes))
        lost = found.pairs.intersect_domain(self.unseen)
        for part in maps_of(lost):
            if not part.is_empty():
                pairs = part.range_factor_domain()
                reader = self.source.statement(tuple_name(pairs, dim_type.out))
                message = f"{reader.name} would not read what the original program has there"
                raise OrderViolatedError(
                    message, witnesses=_witness(pairs, reader.name), span=reader.span
                )

    def told(self) -> str:
        """What was left out, and under which rule."""
        unseen, same = (", ".join(self._named(s)) for s in (self.unseen, self.unchanging))
        parts = [f"no read and no result sees what it wrote: {unseen}"] * bool(unseen)
        parts += [f"copies back of what is there: {same}"] * bool(same)
        return "; ".join(parts) or "there were none"

    def _named(self, instances: UnionSet) -> list[str]:
        left = {s.name for s in self.scop.statements}
        return [
            s.name if s.name not in left else f"{s.name} in part"
            for s in self.source.statements
            if not instances.extract_set(s.space).is_empty()
        ]


def _is_copy(scop: Scop, statement: Statement) -> bool:
    """Whether a statement copies an element to one of another array, unchanged."""
    value = statement.value
    if not isinstance(value, Load) or statement.spread or not statement.reads[0].exact:
        return False
    one, other = scop.array(statement.array), scop.array(value.array)
    return one.type == other.type


def _source(statement: Statement) -> str:
    return statement.reads[0].array


def _witness(pairs: Map, sink: str) -> tuple[Witness, ...]:
    """``{ S[i] -> T[k] }`` or ``{ S[i] -> A[x] }``: one of the pairs."""
    found = instance_of(pairs.wrap().flatten())
    if found is None:
        return ()
    split = pairs.dim(dim_type.in_)
    source = tuple_name(pairs, dim_type.in_), found[1][:split]
    return (Witness("flow", source, (sink, found[1][split:]), found[2]),)
