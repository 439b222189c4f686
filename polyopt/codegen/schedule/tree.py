"""A plan's tree of loops as an isl schedule tree. isl trees are born here and only here.

Loops become bands of one member under a mark with the loop's name; bodies become sequences.
Fused producers have instances ``[tile, i]``, so an ordinary tree holds them (docs/adr/0004).
Copies are numbered in it (``canonical_tuples`` of the program's places).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polyopt.codegen.schedule.isolate import isolate_option
from polyopt.codegen.schedule.unroll import from_zero, iterations
from polyopt.codegen.schedule.unswitch import cases
from polyopt.codegen.schedule.wavefront import Wavefront, fronts_of, is_front
from polyopt.isl import (
    Id,
    MultiUnionPwAff,
    Schedule,
    ScheduleNode,
    UnionPwAff,
    UnionSet,
    UnionSetList,
    affine_var,
    ast_loop_type,
    canonical_tuples,
    context,
    dim_type,
    empty_set,
    on_tuple,
    on_tuples,
    schedule_node_type,
    union_all,
)
from polyopt.transform.schedule.tree import PlanLoop, Tree, copies_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polyopt.isl import PwAff, Set
    from polyopt.transform.schedule.program import ScheduledProgram


def materialize(
    program: ScheduledProgram, *, planned: ScheduledProgram | None = None, spelled: bool = False
) -> Schedule:
    """The schedule tree of a program's copies.

    ``planned`` is the program that the copies are of, where blocks took the place of some: what
    the others compute is asked of it. ``spelled`` gives each iteration of an
    unrolled loop a node of its own, and leaves isl no bounds to find; what isl unrolls itself has
    fewer tests.
    """
    if spelled:
        program = from_zero(program)
    roots = [node for node in program.tree if isinstance(node, PlanLoop)]
    fronts = {
        node.name: fronts_of(program, node, f"W{number}")
        for number, node in enumerate(roots)
        if is_front(node)
    }
    filler = _Filler(program, planned or program, spelled, fronts, canonical_tuples(program.places))
    whole = empty_set()
    for node in program.tree:
        whole = whole.union(filler.domain(node))
    root = Schedule.from_domain(whole.intersect_params(program.scop.context)).get_root()
    return filler.fill(root.child(0), program.tree).get_schedule()


@dataclass(frozen=True)
class _Filler:
    """Puts a program's loops and bodies under nodes of a schedule tree."""

    program: ScheduledProgram
    planned: ScheduledProgram
    spelled: bool
    #: by the name of their outermost loop
    fronts: Mapping[str, Wavefront]
    #: the tuple of each copy
    names: Mapping[str, str]

    def domain(self, node: PlanLoop | str) -> UnionSet:
        """What isl runs of a node: its copies, or its blocks."""
        if isinstance(node, PlanLoop) and node.name in self.fronts:
            return self.fronts[node.name].blocks.to_union_set()
        domains = {name: self.program.copies[name].domain for name in copies_in(node)}
        return on_tuples(domains, self.names)

    def _partial(self, loop: PlanLoop) -> MultiUnionPwAff:
        """``{ S[d] -> [v] }`` for every copy inside a loop."""
        first, *others = (
            UnionPwAff.from_pw_aff(self._numbered(name, loop.values[name]))
            for name in copies_in(loop)
        )
        for part in others:
            first = first.union_add(part)
        return MultiUnionPwAff.from_union_pw_aff(first)

    def _numbered(self, name: str, value: PwAff) -> PwAff:
        """``{ S[d] -> [v] }`` of a copy's ``{ C[d] -> [v] }``, where the copy runs."""
        domain = self.program.copies[name].domain
        space = domain.set_tuple_name(self.names[name]).get_space()
        return on_tuple(value.intersect_domain(domain), space)

    def fill(self, node: ScheduleNode, tree: Tree) -> ScheduleNode:
        """Put ``tree`` where ``node`` (a leaf) stands; returns the node at the same place."""
        if not tree:  # of a program without results nothing may be left
            return node
        if len(tree) == 1:
            return self._child(node, tree[0])
        node = _insert_sequence(node, [self.domain(c) for c in tree])
        for position, child in enumerate(tree):
            inner = self._child(node.child(position).child(0), child)
            node = inner.parent().parent()
        return node

    def _child(self, node: ScheduleNode, child: PlanLoop | str) -> ScheduleNode:
        if isinstance(child, str):
            return node
        if child.name in self.fronts:
            return self._front(node, self.fronts[child.name])
        if child.mark == "unroll" and self.spelled:
            return self._each(node, child, iterations(self.program, child))
        if child.mark == "vector":
            return self._each(node, child, cases(self.program, child, self.planned))
        return self._loop(node, child)

    def _loop(self, node: ScheduleNode, loop: PlanLoop) -> ScheduleNode:
        node = node.insert_partial_schedule(self._partial(loop))
        if loop.mark == "unroll":
            node = node.band_member_set_ast_loop_type(0, ast_loop_type.unroll)
        elif loop.separate:
            option = isolate_option(self.program, loop, self.planned)
            if option is not None:
                node = node.band_set_ast_build_options(option)
        elif any(isinstance(child, PlanLoop) for child in loop.body):
            # one loop with tests inside, not one for each range in which other statements run
            node = node.band_member_set_ast_loop_type(0, ast_loop_type.atomic)
        node = self.fill(node.child(0), loop.body).parent()
        return node.insert_mark(Id(loop.name, context=context()))

    def _front(self, node: ScheduleNode, fronts: Wavefront) -> ScheduleNode:
        """Loops over blocks, and below them an extension with what a block runs."""
        inside = union_all(
            part.set_tuple_name(dim_type.out, self.names[name])
            for name, part in fronts.inside.items()
        )
        inner = ScheduleNode.from_extension(inside)
        inner = self.fill(inner.child(0), fronts.loops[-1].body).root()
        for level, loop in enumerate(fronts.loops):
            value = UnionPwAff.from_pw_aff(affine_var(fronts.blocks.get_space(), level))
            node = node.insert_partial_schedule(MultiUnionPwAff.from_union_pw_aff(value))
            node = node.band_member_set_ast_loop_type(0, ast_loop_type.atomic)
            node = node.insert_mark(Id(loop.name, context=context())).child(0).child(0)
        node = node.graft_before(inner)
        while node.get_schedule_depth() > 0 or node.get_type() != schedule_node_type.mark:
            node = node.parent()
        return node

    def _each(
        self, node: ScheduleNode, loop: PlanLoop, parts: tuple[Mapping[str, Set], ...]
    ) -> ScheduleNode:
        """A loop of its own for each part of a loop's instances, after each other."""
        if not parts:
            return self._loop(node, loop)
        node = _insert_sequence(node, [on_tuples(part, self.names) for part in parts])
        for position in range(len(parts)):
            node = self._loop(node.child(position).child(0), loop).parent().parent()
        return node


def _insert_sequence(node: ScheduleNode, parts: Sequence[UnionSet]) -> ScheduleNode:
    filters = UnionSetList.alloc(context(), len(parts))
    for part in parts:
        filters = filters.add(part)
    return node.insert_sequence(filters)
