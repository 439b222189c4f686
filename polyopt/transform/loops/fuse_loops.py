"""Loop fusion: two neighbouring loops become one; and loop distribution, its inverse.

rewrite: ``for (i) S(i); for (i) T(i);`` <-> ``for (i) { S(i); T(i); }``

With a shift the second is so many iterations late: ``T(i - shift)`` is beside ``S(i)``.

*Requires* neighbouring loops (``fuse_loops``). *Fails when* a dependence would be reversed: then
shift the consumer first, or pull the producer in (``fuse``), which recomputes and does not reorder.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import NotFusableError
from polyopt.transform.loops.skew import shift_loop
from polyopt.transform.loops.split import check_size
from polyopt.transform.schedule.query import copies_of, find_loop, fresh_loop_name
from polyopt.transform.schedule.registry import transformation
from polyopt.transform.schedule.tree import PlanLoop, Tree, loops_of, only, replace_loop, without

if TYPE_CHECKING:
    from collections.abc import Iterator

    from polyopt.transform.schedule.program import ScheduledProgram
    from polyopt.transform.schedule.storage import StorageDirective


@transformation("loops")
def fuse_loops(
    program: ScheduledProgram, one: str, other: str, *, depth: int = 1, shift: int = 0
) -> ScheduledProgram:
    """The program with two neighbouring nests fused to one, ``depth`` loops deep, the second later
    by ``shift`` iterations."""
    program = shift_loop(program, other, shift) if shift else program
    first, second = find_loop(program, one), find_loop(program, other)
    check_size(depth, "fuse_loops: depth")
    tree = _fused_in(program.tree, first.name, second.name, depth)
    if tree is None:
        message = f"{first.name} and {second.name} are not neighbours"
        hint = "loops can be fused when nothing stands between them, in one body"
        raise NotFusableError(message, hint=hint)
    gone = dict(_joined(first, second, depth))
    stores = tuple(
        replace(s, at=gone.get(s.at, s.at), within=gone.get(s.within, s.within))
        for s in program.stores
    )
    return replace(program, tree=tree, stores=stores)


def _joined(one: PlanLoop, other: PlanLoop, depth: int) -> Iterator[tuple[str, str]]:
    """The name of every loop that becomes part of another, and that one's name."""
    yield one.name, other.name
    last, first = one.body[-1], other.body[0]
    if depth > 1 and isinstance(last, PlanLoop) and isinstance(first, PlanLoop):
        yield from _joined(last, first, depth - 1)


def _fused_in(tree: Tree, one: str, other: str, depth: int) -> Tree | None:
    for position, node in enumerate(tree):
        if isinstance(node, str):
            continue
        following = tree[position + 1] if position + 1 < len(tree) else None
        if node.name == one and isinstance(following, PlanLoop) and following.name == other:
            return (*tree[:position], _join(node, following, depth), *tree[position + 2 :])
        body = _fused_in(node.body, one, other, depth)
        if body is not None:
            return (*tree[:position], replace(node, body=body), *tree[position + 1 :])
    return None


def _join(one: PlanLoop, other: PlanLoop, depth: int) -> PlanLoop:
    body = (*one.body, *other.body)
    if depth > 1:
        last, first = one.body[-1], other.body[0]
        if isinstance(last, PlanLoop) and isinstance(first, PlanLoop):
            body = (*one.body[:-1], _join(last, first, depth - 1), *other.body[1:])
    values = {**one.values, **other.values}
    return PlanLoop(other.name, values, body, origin=other.origin, blocks_of=other.blocks_of)


@transformation("loops", hint="statements stay in one loop where each needs the other's values")
def distribute(program: ScheduledProgram, loop: str, at: str) -> ScheduledProgram:
    """The program with a loop split in two: statements before those of ``at``, then these
    and the ones after them. A copy of that name counts alone, where the loop has it."""
    node = find_loop(program, loop)
    inside = _names(node)
    later = _from(node, {at} if at in inside else set(copies_of(program, at)))
    earlier = set(inside) - later
    if not later or not earlier:
        message = f"{loop} has nothing to distribute at {at}"
        raise NotFusableError(message)

    second = without((node,), earlier)
    first, names = _renamed(program, only((node,), earlier), {n.name for n in loops_of(second)})
    tree = replace_loop(program.tree, node.name, lambda _: (*first, *second))
    return replace(program, tree=tree, stores=_shared_out(program, names, earlier, later))


def _renamed(program: ScheduledProgram, tree: Tree, taken: set[str]) -> tuple[Tree, dict[str, str]]:
    """The tree with new names for loops whose name is taken, and these names by the old ones."""
    names: dict[str, str] = {}
    for loop in loops_of(tree):
        if loop.name in taken:
            names[loop.name] = fresh_loop_name(program.tree, loop.name)

    def again(nodes: Tree) -> Tree:
        return tuple(
            n
            if isinstance(n, str)
            else replace(n, name=names.get(n.name, n.name), body=again(n.body))
            for n in nodes
        )

    return again(tree), names


def _shared_out(
    program: ScheduledProgram, names: dict[str, str], earlier: set[str], later: set[str]
) -> tuple[StorageDirective, ...]:
    """The stores, with one of its own for the earlier half of a loop where it uses the array."""
    result: list[StorageDirective] = []
    for store in program.stores:
        if store.at not in names and store.within not in names:
            result.append(store)
            continue
        if _uses(program, store, earlier):
            at, within = names.get(store.at, store.at), names.get(store.within, store.within)
            result.append(replace(store, name=f"{store.name}@{at}", at=at, within=within))
        if _uses(program, store, later):
            result.append(store)
    return tuple(result)


def _uses(program: ScheduledProgram, store: StorageDirective, copies: set[str]) -> bool:
    return any(
        access.array == store.array
        for name in copies
        for access in (program.copies[name].statement.write, *program.copies[name].statement.reads)
    )


def _names(node: PlanLoop) -> tuple[str, ...]:
    from polyopt.transform.schedule.tree import copies_in

    return copies_in(node)


def _from(node: PlanLoop, space: set[str]) -> set[str]:
    names = _names(node)
    starts = [position for position, name in enumerate(names) if name in space]
    return set(names[starts[0] :]) if starts else set()
