"""A plan's tree of loops as an isl schedule tree. isl trees are born here and only here.

Loops become bands of one member under a mark with the loop's name; bodies become sequences.
Fused producers have instances ``[tile, i]``, so an ordinary tree holds them (docs/adr/0004).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyopt.codegen.isolate import isolate_option
from polyopt.isl import (
    Id,
    MultiUnionPwAff,
    Schedule,
    ScheduleNode,
    UnionPwAff,
    UnionSet,
    UnionSetList,
    ast_loop_type,
    context,
    empty_set,
)
from polyopt.transform.tree import PlanLoop, Tree, copies_in

if TYPE_CHECKING:
    from polyopt.transform.program import Program


def materialize(program: Program) -> Schedule:
    """The schedule tree of a program's copies."""
    whole = _domain(program, tuple(program.places)).intersect_params(program.scop.context)
    root = Schedule.from_domain(whole).get_root()
    return _fill(program, root.child(0), program.tree).get_schedule()


def _domain(program: Program, names: tuple[str, ...]) -> UnionSet:
    result = empty_set()
    for name in names:
        result = result.union(program.copies[name].domain.to_union_set())
    return result


def _fill(program: Program, node: ScheduleNode, tree: Tree) -> ScheduleNode:
    """Put ``tree`` where ``node`` (a leaf) stands; returns the node at the same place."""
    if len(tree) == 1:
        return _fill_one(program, node, tree[0])
    filters = UnionSetList.alloc(context(), len(tree))
    for child in tree:
        filters = filters.add(_domain(program, copies_in(child)))
    node = node.insert_sequence(filters)
    for position, child in enumerate(tree):
        inner = _fill_one(program, node.child(position).child(0), child)
        node = inner.parent().parent()
    return node


def _fill_one(program: Program, node: ScheduleNode, child: PlanLoop | str) -> ScheduleNode:
    if isinstance(child, str):
        return node
    node = node.insert_partial_schedule(_partial(program, child))
    if child.mark == "unroll":
        node = node.band_member_set_ast_loop_type(0, ast_loop_type.unroll)
    elif child.separate:
        option = isolate_option(program, child)
        if option is not None:
            node = node.band_set_ast_build_options(option)
    node = _fill(program, node.child(0), child.body).parent()
    return node.insert_mark(Id(child.name, context=context()))


def _partial(program: Program, loop: PlanLoop) -> MultiUnionPwAff:
    """``{ C[d] -> [v] }`` for every copy inside a loop."""
    first, *others = (
        UnionPwAff.from_pw_aff(loop.values[name].intersect_domain(program.copies[name].domain))
        for name in copies_in(loop)
    )
    for part in others:
        first = first.union_add(part)
    return MultiUnionPwAff.from_union_pw_aff(first)
