"""Dead store elimination: of what is written anew before anything reads it, or is there already.

rewrite: ``r[:] = 0; for (i) r[i] = f(i);`` -> ``for (i) r[i] = f(i);``, and where the inner part of
a copy is written anew and all of it is copied back, ``b = a; b[1:-1] = ...; a = b;`` ->
``b[1:-1] = ...; a[1:-1] = b[1:-1];``, for the border of ``a`` is what it was.

Comes before all other moves, but those that change the program as well.

*Requires* for dead stores a later write of the same element in all cases, and no read between the
two; arrays that outlive the program keep their last writes. For redundant ones, plain copies there
and back, and no other write to the element between them. *Does not handle* instances around those
that go: what is left of a statement is one box. What was left out is shown to be of no use by
``transform/legality/dead_stores.py``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.analysis.dependences import reads_within, timed
from polyopt.errors import InvalidOptionError, NotDecidedError
from polyopt.ir.block import Block
from polyopt.ir.expr import Load
from polyopt.ir.scop import Loop, statements_in
from polyopt.isl import (
    Set,
    budget,
    dim_type,
    empty_map,
    exclusive,
    last_writes,
    maps_of,
    tuple_name,
    union_all,
)
from polyopt.memo import memo
from polyopt.transform.schedule.registry import transformation

if TYPE_CHECKING:
    from polyopt.ir.scop import Scop, Statement
    from polyopt.isl import UnionMap, UnionSet

#: isl operations that a program may take: what is not decided by then stays as it is
OPERATIONS = 500_000


@transformation("source", is_stage=True)
def eliminate_dead_stores(scop: Scop) -> Scop:
    """The program without statements, or instances of them, whose results nothing sees, or that
    write what is there.

    That it is still its source is for ``check_eliminated`` to say.
    """
    found = without_dead_stores(scop)
    if found is scop:
        message = f"each store of {scop.name} is read, or left in a result"
        raise InvalidOptionError(message, span=scop.statements[0].span)
    return found


@memo
@exclusive()
def without_dead_stores(scop: Scop) -> Scop:
    """The program without its dead stores as far as they are found; itself where it has none."""
    with suppress(NotDecidedError), budget(OPERATIONS, "dead stores"):
        scop = _without_returns(scop)
        while True:
            changed = _swept(scop)
            if changed is scop:
                break
            scop = changed
    return scop


def _swept(scop: Scop) -> Scop:
    """The program without what is dead as it stands; itself where nothing is."""
    arrays = [a.name for a in scop.arrays if _is_candidate(scop, a.name)]
    seen = {name: _seen(scop, name) for name in arrays}
    kept: list[Statement] = []
    for statement in scop.statements:
        live = seen.get(statement.array)
        left = statement if live is None else _left(scop, statement, live)
        if left is not None:
            kept.append(left)
    if len(kept) == len(scop.statements) and all(map(_same, kept, scop.statements)):
        return scop
    if not kept:
        return scop
    names = {s.name for s in kept}
    return replace(scop, statements=tuple(kept), nest=_nest(scop.nest, names))


def _without_returns(scop: Scop) -> Scop:
    """The program without copies to where their values came from, and still are."""
    copies = {s.name: s.value.array for s in scop.statements if isinstance(s.value, Load)}
    pairs = [
        (there, back)
        for there in scop.statements if there.name in copies
        for back in scop.statements
        if copies.get(back.name) == there.array and copies[there.name] == back.array
    ]  # fmt: skip
    changed: dict[str, Statement] = {}
    for there, back in pairs:
        back = changed.get(back.name, back)  # noqa: PLW2901 - it may have lost others
        kept = back.domain.intersect_params(scop.context)
        kept = kept.subtract(_returned(scop, there, back)).coalesce()
        if not kept.is_empty():
            changed[back.name] = _within(scop, back, kept)
    return scop.with_statements(*changed.values()) if changed else scop


def _returned(scop: Scop, there: Statement, back: Statement) -> Set:
    """``{ T[j] }``: instances of ``back`` that write to an element what ``there`` read in it, and
    what it still is."""
    writes = back.write.relation.to_union_map()
    read = there.reads[0].relation.to_union_map()
    source = _sources(scop, back.reads[0].relation.to_union_map(), there.array)
    taken = source.intersect_domain(there.domain.to_union_set()).reverse()  # { T[j] -> S[i] }
    taken = taken.intersect(writes.apply_range(read.reverse()))
    before, then = (_sources(scop, one, back.array) for one in (read, writes))
    same = taken.intersect(then.reverse().apply_range(before)).domain()
    # neither of the two has had a write before it: the element is what the caller gave
    fresh = taken.subtract_domain(then.range()).subtract_range(before.range()).domain()
    found = same.union(fresh) if scop.array(back.array).is_live_in else same
    return found.extract_set(back.space).intersect_params(scop.context)


def _sources(scop: Scop, accesses: UnionMap, array: str) -> UnionMap:
    """``{ W[k] -> S[i] }``: the last write of an element before each access to it."""
    accesses = accesses.intersect_params(scop.context)
    writes = _of(scop.writes, array)
    times = timed(scop, empty_map(), writes.union(accesses))
    return last_writes(accesses, writes, times).pairs


def _same(one: Statement, other: Statement) -> bool:
    return one is other


def _is_candidate(scop: Scop, array: str) -> bool:
    """Whether several statements write an array, or nothing reads what the program keeps."""
    writers = [s for s in scop.statements if s.array == array]
    if len(writers) > 1:
        return True
    read = any(access.array == array for s in scop.statements for access in s.reads)
    return bool(writers) and not read and not scop.array(array).is_live_out


def _seen(scop: Scop, array: str) -> UnionSet:
    """``{ S[i] }``: the instances whose value is read, or is left in the end."""
    writes = _of(scop.writes, array)
    reads = _of(reads_within(scop), array)
    found = last_writes(reads, writes, timed(scop, reads, writes)).sources.domain()
    if scop.array(array).is_live_out:
        again = last_writes(writes, writes, timed(scop, reads_within(scop), writes)).pairs
        found = found.union(writes.domain().subtract(again.domain()))
    return found


def _of(accesses: UnionMap, array: str) -> UnionMap:
    return union_all(p for p in maps_of(accesses) if tuple_name(p, dim_type.out) == array)


def _left(scop: Scop, statement: Statement, live: UnionSet) -> Statement | None:
    """A statement with the instances that are seen; ``None`` where there are none."""
    if statement.spread or isinstance(statement.value, Block):
        return statement
    domain = statement.domain.intersect_params(scop.context)
    mine: Set = live.extract_set(statement.space).intersect(domain).coalesce()
    if mine.is_empty():
        return None
    return _within(scop, statement, mine)


def _within(scop: Scop, statement: Statement, needed: Set) -> Statement:
    """A statement with the least box of the instances that are needed; itself where that is all."""
    box = Set.from_basic_set(needed.simple_hull())
    if statement.domain.intersect_params(scop.context).is_subset(box):
        return statement
    return replace(statement, domain=statement.domain.intersect(box).coalesce())


def _nest(nest: tuple[Loop | str, ...], names: set[str]) -> tuple[Loop | str, ...]:
    """The loops without statements that are gone, nor loops around none."""
    result: list[Loop | str] = []
    for node in nest:
        if isinstance(node, str):
            result += [node] * (node in names)
        elif names.intersection(statements_in(node)):
            result.append(replace(node, body=_nest(node.body, names)))
    return tuple(result)
