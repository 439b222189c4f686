"""pack: copy what a tile reads of an array into a contiguous buffer first, and read that.

relation: ``needed = { [t] -> A[x] }``, what the copies inside the loop read, is copied by
instances ``{ pack[t, x] }`` at the start of each iteration.

rewrite: ``for (tile) use(A[f(i)]);`` ->
``for (tile) { for (x in footprint) buffer[x - x0] = A[x]; use(buffer[f(i) - x0]); }``

*Requires* a bounded footprint. *Fails when* the array is written inside the loop in a way that
the buffer would miss (the proof).

The buffer may have the dimensions in another order, so that what a loop walks is contiguous; it
may be for one reference alone, where others read other parts of the array; and it may hold what
an operation with constants and scalars makes of each element (``alpha * A[i][k]``), which is then
done once per element and not once per read.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from polyopt.errors import InvalidOptionError, NotFusableError, given
from polyopt.ir.build import load
from polyopt.ir.expr import Binary, Const, Expr, Load, Unary, index_of, loads
from polyopt.ir.scop import Statement
from polyopt.isl import affine_var, dim_type
from polyopt.transform.schedule.query import (
    check_name,
    find_loop,
    fresh_loop_name,
    path_to,
    unknown,
)
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.storage import StorageDirective, store_for
from polyopt.transform.schedule.tree import (
    PlanLoop,
    ScheduledStatement,
    Tree,
    copies_in,
    replace_loop,
    with_values,
)
from polyopt.transform.storage.fuse import footprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polyopt.isl import Map
    from polyopt.transform.schedule.program import ScheduledProgram


def _is_order(order: object, rank: int) -> bool:
    """Whether each dimension is there once; a file may hold anything."""
    if not isinstance(order, (list, tuple)):
        return False
    listed = cast("list[object]", [*order])
    return len(listed) == rank and all(d in listed for d in range(rank))


@transformation("storage")
def pack(
    program: ScheduledProgram,
    array: str,
    at: str,
    *,
    read: str | None = None,
    order: Sequence[int] | None = None,
    scaled: bool | None = None,
) -> ScheduledProgram:
    """The program with the elements of ``array`` read inside loop ``at`` copied to a buffer.

    ``read`` names the one reference that the buffer is for, ``order`` the array's dimensions as
    the buffer has them, and ``scaled`` buffers what scalars make of the elements.
    """
    read, order = read or "", order or ()
    names = [a.name for a in program.scop.arrays]
    check_name("array", array)
    if array not in names:
        raise unknown("array", array, names)
    if not program.scop.array(array).rank:
        message = f"{array} is a scalar: there is nothing to pack"
        raise InvalidOptionError(message)
    if order and not _is_order(order, program.scop.array(array).rank):
        message = f"pack({array!r}): {given(order)} is no order of its dimensions"
        raise InvalidOptionError(message, hint="name each dimension once, the first is 0")
    loop = find_loop(program, at)
    needed, readers = _needed(program, array, loop, read)
    depth = len(path_to(program, loop.name))
    name = f"{array}@{loop.name}#pack{read}"
    chain = _chain(program, array, readers, read) if scaled else ()
    refs = (read,) if read else ()
    store = StorageDirective(
        name, array, loop.name, refs=refs, order=tuple(order), above=max(0, len(chain) - 1)
    )
    copy = _copy(program, array, needed, depth, store, chain)
    nest = _nest(program, copy, array, depth)

    def change(found: PlanLoop) -> Tree:
        first = next(i for i, c in enumerate(found.body) if readers & set(copies_in(c)))
        return (replace(found, body=(*found.body[:first], nest, *found.body[first:])),)

    tree = replace_loop(program.tree, loop.name, change)
    space = copy.domain.get_space()
    added = {
        node.name: {copy.name: affine_var(space, level)}
        for level, node in enumerate(path_to(program, loop.name))
    }
    return replace(
        program,
        copies={**program.copies, copy.name: copy},
        tree=with_values(tree, added),
        stores=(*program.stores, store),
    )


def _needed(
    program: ScheduledProgram, array: str, loop: PlanLoop, read: str
) -> tuple[Map, set[str]]:
    """``{ [t] -> A[x] }`` read inside a loop from outside it, and who reads."""
    inside = [
        name
        for name in copies_in(loop)
        if store_for(program.stores, array, program.places[name], ref=read) is None
    ]
    reads = program.reads_of(array, inside, (read,) if read else ())
    if not reads:
        message = f"nothing inside {loop.name} reads {array} from the array itself"
        raise NotFusableError(message, hint="pack at a loop around a reader")
    depth = len(path_to(program, loop.name))
    return footprint(program, reads, depth, array), {t.host for t in reads}


def _chain(program: ScheduledProgram, array: str, readers: set[str], read: str) -> tuple[Expr, ...]:
    """The load and the operations above it that only constants and scalars take part in."""
    found = [
        _above(program, statement.value, load)
        for statement in (program.copies[name].statement for name in sorted(readers))
        for access, load in zip(statement.reads, loads(statement.value), strict=True)
        if load.array == array and (not read or access.ref == read)
    ]
    if len(found) != 1:
        message = f"{array} is read at {len(found)} places here: what is made of it may differ"
        raise InvalidOptionError(message, hint="name one of them: read=...")
    return found[0]


def is_scaled(program: ScheduledProgram, copy: str, load: Load) -> bool:
    """Whether constants and scalars alone make something of a load before others take part."""
    return len(_above(program, program.copies[copy].statement.value, load)) > 1


def _above(program: ScheduledProgram, value: Expr, load: Load) -> tuple[Expr, ...]:
    if value is load:
        return (load,)
    for child in value.children:
        inner = _above(program, child, load)
        if not inner:
            continue
        whole = inner[-1] is child
        others = [c for c in value.children if c is not child]
        plain = isinstance(value, (Binary, Unary)) and value.type == load.type
        if whole and plain and all(_is_scalar(program, c) for c in others):
            return (*inner, value)
        return inner
    return ()


def _is_scalar(program: ScheduledProgram, expr: Expr) -> bool:
    """Whether a value is made of constants and of scalars that nothing writes."""
    if isinstance(expr, Load):
        array = program.scop.array(expr.array)
        return array.role == "in" and not array.rank
    if not isinstance(expr, (Const, Binary, Unary)):
        return False
    return all(_is_scalar(program, child) for child in expr.children)


def _filled(chain: tuple[Expr, ...], element: Expr) -> Expr:
    """What the buffer holds of an element."""
    result = element
    for below, node in itertools.pairwise(chain):
        result = node.with_children(tuple(result if c is below else c for c in node.children))
    return result


def _copy(
    program: ScheduledProgram,
    array: str,
    needed: Map,
    depth: int,
    store: StorageDirective,
    chain: tuple[Expr, ...],
) -> ScheduledStatement:
    """The instances ``{ pack[t, x] }`` of ``A[x] = A[x]`` that fill the buffer."""
    rank = program.scop.array(array).rank
    name = store.name
    elements = program.elements[array].set_tuple_name(name)
    space = elements.get_space()
    index = tuple(index_of(affine_var(space, d)) for d in range(rank))
    value = load(program.scop.array(array).type, array, index)
    iterators = tuple(f"{array}_{d}" for d in range(rank))
    statement = Statement(name, iterators, elements, array, index, _filled(chain, value))
    domain = needed.wrap().flatten().set_tuple_name(name).coalesce()
    return ScheduledStatement(name, statement, domain, depth, fills=store.name)


def _nest(
    program: ScheduledProgram, copy: ScheduledStatement, array: str, depth: int
) -> PlanLoop | str:
    """A loop per dimension of the array, in its order."""
    node: PlanLoop | str = copy.name
    space = copy.domain.get_space()
    for position in reversed(range(depth, copy.domain.dim(dim_type.set))):
        iterator = copy.statement.iterators[position - depth]
        name = fresh_loop_name(program.tree, f"{array}@pack.{iterator}")
        node = PlanLoop(name, {copy.name: affine_var(space, position)}, (node,))
    return node
