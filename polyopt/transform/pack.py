"""pack: copy what a tile reads of an array into a contiguous buffer first, and read that.

relation: ``needed = { [t] -> A[x] }``, what the copies inside the loop read, is copied by
instances ``{ pack[t, x] }`` at the start of each iteration.

rewrite: ``for (tile) use(A[f(i)]);`` ->
``for (tile) { for (x in footprint) buffer[x - x0] = A[x]; use(buffer[f(i) - x0]); }``

*Requires* a bounded footprint. *Fails when* the array is written inside the loop in a way that
the buffer would miss (the proof). *Does not handle* another order of the buffer's dimensions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import InvalidOptionError, NotFusableError
from polyopt.ir.build import load
from polyopt.ir.expr import index_of
from polyopt.ir.scop import Statement
from polyopt.isl import affine_var, dim_type
from polyopt.transform.find import check_name, find_loop, fresh_loop_name, path_to, unknown
from polyopt.transform.fuse import footprint
from polyopt.transform.storage import Store, store_for
from polyopt.transform.tree import Copy, PlanLoop, Tree, copies_in, replace_loop, with_values

if TYPE_CHECKING:
    from polyopt.isl import Map
    from polyopt.transform.program import Program


def pack(program: Program, array: str, at: str) -> Program:
    """The program with the elements of ``array`` read inside loop ``at`` copied to a buffer."""
    names = [a.name for a in program.scop.arrays]
    check_name("array", array)
    if array not in names:
        raise unknown("array", array, names)
    if not program.scop.array(array).rank:
        message = f"{array} is a scalar: there is nothing to pack"
        raise InvalidOptionError(message)
    loop = find_loop(program, at)
    needed, readers = _needed(program, array, loop)
    depth = len(path_to(program, loop.name))
    store = Store(f"{array}@{loop.name}#pack", array, loop.name)
    copy = _copy(program, array, needed, depth, store)
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


def _needed(program: Program, array: str, loop: PlanLoop) -> tuple[Map, set[str]]:
    """``{ [t] -> A[x] }`` read inside a loop from outside it, and who reads."""
    inside = [
        name
        for name in copies_in(loop)
        if store_for(program.stores, array, program.places[name]) is None
    ]
    reads = program.reads_of(array, inside)
    if not reads:
        message = f"nothing inside {loop.name} reads {array} from the array itself"
        raise NotFusableError(message, hint="pack at a loop around a reader")
    depth = len(path_to(program, loop.name))
    return footprint(program, reads, depth, array), {t.host for t in reads}


def _copy(program: Program, array: str, needed: Map, depth: int, store: Store) -> Copy:
    """The instances ``{ pack[t, x] }`` of ``A[x] = A[x]`` that fill the buffer."""
    rank = program.scop.array(array).rank
    name = f"{array}@{store.at}#pack"
    elements = program.elements[array].set_tuple_name(name)
    space = elements.get_space()
    index = tuple(index_of(affine_var(space, d)) for d in range(rank))
    value = load(program.scop.array(array).type, array, index)
    iterators = tuple(f"{array}_{d}" for d in range(rank))
    statement = Statement(name, iterators, elements, array, index, value)
    domain = needed.wrap().flatten().set_tuple_name(name).coalesce()
    return Copy(name, statement, domain, depth, fills=store.name)


def _nest(program: Program, copy: Copy, array: str, depth: int) -> PlanLoop | str:
    """A loop per dimension of the array, in its order."""
    node: PlanLoop | str = copy.name
    space = copy.domain.get_space()
    for position in reversed(range(depth, copy.domain.dim(dim_type.set))):
        iterator = copy.statement.iterators[position - depth]
        name = fresh_loop_name(program.tree, f"{array}@pack.{iterator}")
        node = PlanLoop(name, {copy.name: affine_var(space, position)}, (node,))
    return node
