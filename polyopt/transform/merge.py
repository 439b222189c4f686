"""merge and distribute: classical loop fusion of neighbours, and its inverse.

rewrite: ``for (i) S(i); for (i) T(i);`` <-> ``for (i) { S(i); T(i); }``

*Requires* neighbouring loops (merge). *Fails when* a dependence would be reversed: then shift
the consumer first, or fuse output-driven, which recomputes instead of reordering.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from polyopt.errors import NotFusableError
from polyopt.transform.find import copies_of, find_loop, fresh_loop_name
from polyopt.transform.tree import PlanLoop, Tree, only, replace_loop, without

if TYPE_CHECKING:
    from polyopt.transform.program import Program


def merge(program: Program, one: str, other: str, depth: int = 1) -> Program:
    """The program with two neighbouring nests made one, ``depth`` loops deep."""
    first, second = find_loop(program, one), find_loop(program, other)
    tree = _merge_in(program.tree, first.name, second.name, depth)
    if tree is None:
        message = f"{first.name} and {second.name} are not neighbours"
        hint = "loops can be merged when nothing stands between them, in one body"
        raise NotFusableError(message, hint=hint)
    return replace(program, tree=tree)


def _merge_in(tree: Tree, one: str, other: str, depth: int) -> Tree | None:
    for position, node in enumerate(tree):
        if isinstance(node, str):
            continue
        following = tree[position + 1] if position + 1 < len(tree) else None
        if node.name == one and isinstance(following, PlanLoop) and following.name == other:
            return (*tree[:position], _join(node, following, depth), *tree[position + 2 :])
        body = _merge_in(node.body, one, other, depth)
        if body is not None:
            return (*tree[:position], replace(node, body=body), *tree[position + 1 :])
    return None


def _join(one: PlanLoop, other: PlanLoop, depth: int) -> PlanLoop:
    body = (*one.body, *other.body)
    if depth > 1:
        last, first = one.body[-1], other.body[0]
        if isinstance(last, PlanLoop) and isinstance(first, PlanLoop):
            body = (*one.body[:-1], _join(last, first, depth - 1), *other.body[1:])
    return PlanLoop(other.name, {**one.values, **other.values}, body)


def distribute(program: Program, loop: str, space: str) -> Program:
    """The program with a loop split in two: statements before those of ``space``, then these
    and the ones after them."""
    node = find_loop(program, loop)
    later = _from(node, set(copies_of(program, space)))
    earlier = set(_names(node)) - later
    if not later or not earlier:
        message = f"{loop} has nothing to distribute at {space}"
        raise NotFusableError(message)

    def change(found: PlanLoop) -> Tree:
        first = only((found,), earlier)
        second = without((found,), earlier)
        name = fresh_loop_name(program.tree, found.name)
        renamed = [replace(n, name=name) if isinstance(n, PlanLoop) else n for n in first]
        return (*renamed, *second)

    return replace(program, tree=replace_loop(program.tree, node.name, change))


def _names(node: PlanLoop) -> tuple[str, ...]:
    from polyopt.transform.tree import copies_in

    return copies_in(node)


def _from(node: PlanLoop, space: set[str]) -> set[str]:
    names = _names(node)
    starts = [position for position, name in enumerate(names) if name in space]
    return set(names[starts[0] :]) if starts else set()
