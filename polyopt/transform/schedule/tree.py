"""The loop tree of a Plan: loops over copies of statements. Values only; no legality here.

A changed tree shares the loops that did not change with the tree it was made of.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from polyopt.isl import (
    Map,
    PwAff,
    PwMultiAff,
    Set,
    affine_constant,
    affine_var,
    dim_type,
    identity_part,
    union_all,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from polyopt.ir.scop import Statement
    from polyopt.isl import UnionMap


@dataclass(frozen=True, eq=False)
class ScheduledStatement:
    """A statement as the plan runs it: ``outer`` loop values first, then its own iterators.

    A statement that stays where it was has no outer dimensions; a producer pulled into tiles
    has those of the tile, so one instance of the source may run once per tile.
    """

    name: str
    statement: Statement
    #: { C[t, i] : ... }
    domain: Set
    outer: int = 0
    #: name of the store that this copy fills from the array itself: a pack
    fills: str = ""

    @cached_property
    def to_instance(self) -> PwMultiAff:
        """``{ C[t, i] -> S[i] }``."""
        count = len(self.statement.iterators)
        part = identity_part(self.domain.get_space(), self.outer, count)
        return part.set_tuple_id(dim_type.out, self.statement.space.get_tuple_id(dim_type.set))

    @cached_property
    def instances(self) -> Set:
        """``{ S[i] }``: those of the source that it runs."""
        return self.domain.apply(self.to_instance.as_map())

    def by_reader(self, reader: Set) -> Map:
        """``{ C[d] -> O[d, j] }``: the instances of an operand per instance of its reader."""
        pairs = self.domain.identity()
        pairs = pairs.project_out(dim_type.in_, self.outer, pairs.dim(dim_type.in_) - self.outer)
        return pairs.set_tuple_id(dim_type.in_, reader.get_tuple_id())


@dataclass(frozen=True, eq=False)
class PlanLoop:
    """A loop of the plan. ``values`` gives its value at each copy inside: ``{ C[d] -> [v] }``."""

    name: str
    values: Mapping[str, PwAff]
    body: tuple[PlanLoop | str, ...]
    #: "", "parallel", "vector" or "unroll"
    mark: str = ""
    #: vector width, unroll factor, or 1 for a static schedule; 0 leaves it to the target (vector),
    #: means all (unroll), or a dynamic schedule (parallel)
    width: int = 0
    #: whether iterations with different conditions inside get loops of their own
    separate: bool = False
    #: lanes of the aligned vectors that a vector loop's neighbours come from; 0 for none
    lanes: int = 0
    #: what it shares with loops that it was copied or split from, whatever they are called
    origin: object = field(default_factory=object, repr=False)
    #: the origin of the loop over whose blocks it goes
    blocks_of: object | None = field(default=None, repr=False)

    @cached_property
    def copies(self) -> tuple[str, ...]:
        """The copies below, in textual order."""
        return tuple(
            name
            for node in self.body
            for name in ((node,) if isinstance(node, str) else node.copies)
        )

    @cached_property
    def loops(self) -> tuple[PlanLoop, ...]:
        """This loop and those below, outer before inner, in textual order."""
        return (self, *loops_of(self.body))

    @cached_property
    def places(self) -> tuple[SchedulePosition, ...]:
        """Every leaf below, as it stands in this loop."""
        return tuple(
            SchedulePosition(p.copy, p.positions, (self, *p.loops)) for p in places(self.body)
        )

    @property
    def owner(self) -> str:
        """The computation space it is named after: ``out`` of ``out.y_tile``."""
        return self.name.rsplit(".", 1)[0]

    @property
    def iterator(self) -> str:
        """``y_tile`` of ``out.y_tile``."""
        return self.name.rsplit(".", 1)[1]


Tree = tuple[PlanLoop | str, ...]


@dataclass(frozen=True)
class SchedulePosition:
    """Where a leaf stands: its copy, textual positions, and the loops around it."""

    copy: str
    positions: tuple[int, ...]
    loops: tuple[PlanLoop, ...]


def places(tree: Tree) -> Iterator[SchedulePosition]:
    """Every leaf in textual order."""
    for position, node in enumerate(tree):
        if isinstance(node, str):
            yield SchedulePosition(node, (position,), ())
        else:
            for place in node.places:
                yield SchedulePosition(place.copy, (position, *place.positions), place.loops)


def same_tree(one: Tree, other: Tree) -> bool:
    """Whether two trees are the same loops around the same copies, as they are written."""
    return len(one) == len(other) and all(map(_same_node, one, other))


def _same_node(one: PlanLoop | str, other: PlanLoop | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return (
        _looks(one) == _looks(other)
        and one.values.keys() == other.values.keys()
        and all(one.values[c].plain_is_equal(v) for c, v in other.values.items())
        and same_tree(one.body, other.body)
    )


def _looks(loop: PlanLoop) -> tuple[object, ...]:
    return loop.name, loop.mark, loop.width, loop.separate, loop.lanes


def copies_in(node: PlanLoop | str) -> tuple[str, ...]:
    """The copies below a node, in textual order."""
    return (node,) if isinstance(node, str) else node.copies


def loops_of(tree: Tree) -> Iterator[PlanLoop]:
    """Every loop, outer before inner, in textual order."""
    for node in tree:
        if not isinstance(node, str):
            yield from node.loops


def replace_loop(tree: Tree, name: str, change: Callable[[PlanLoop], Tree]) -> Tree:
    """The tree with the loop of that name replaced by the nodes ``change`` makes of it."""
    result: list[PlanLoop | str] = []
    for node in tree:
        if isinstance(node, str):
            result.append(node)
        elif node.name == name:
            result.extend(change(node))
        else:
            result.append(_with_body(node, replace_loop(node.body, name, change)))
    return _unless_same(result, tree)


def with_loop(tree: Tree, name: str, **changes: Any) -> Tree:  # noqa: ANN401
    """The tree with other fields of the loop of that name: ``values``, ``body``, ``mark``, ..."""
    return replace_loop(tree, name, lambda loop: (replace(loop, **changes),))


def _with_body(node: PlanLoop, body: Tree) -> PlanLoop:
    return node if body is node.body else replace(node, body=body)


def _unless_same(nodes: list[PlanLoop | str], tree: Tree) -> Tree:
    """The nodes; the tree itself where they are its own."""
    if len(nodes) == len(tree) and all(map(operator.is_, nodes, tree)):
        return tree
    return tuple(nodes)


def rename_loops(tree: Tree, names: Mapping[str, str]) -> Tree:
    """The tree with other names for some loops."""
    result: list[PlanLoop | str] = []
    for node in tree:
        if not isinstance(node, str):
            inside = _with_body(node, rename_loops(node.body, names))
            new = names.get(node.name, node.name)
            result.append(inside if new == node.name else replace(inside, name=new))
        else:
            result.append(node)
    return _unless_same(result, tree)


def with_values(tree: Tree, added: Mapping[str, Mapping[str, PwAff]]) -> Tree:
    """The tree with values for further copies at some loops: ``{loop: {copy: value}}``."""
    result: list[PlanLoop | str] = []
    for node in tree:
        if isinstance(node, str):
            result.append(node)
            continue
        inside = _with_body(node, with_values(node.body, added))
        more = added.get(node.name)
        result.append(replace(inside, values={**node.values, **more}) if more else inside)
    return _unless_same(result, tree)


def without(tree: Tree, names: set[str]) -> Tree:
    """The tree without some copies, and without loops that thereby become empty."""
    result: list[PlanLoop | str] = []
    for node in tree:
        if names.isdisjoint(copies_in(node)):
            result.append(node)
        elif not isinstance(node, str):
            body = without(node.body, names)
            if body:
                kept = {c: v for c, v in node.values.items() if c not in names}
                result.append(replace(node, body=body, values=kept))
    return _unless_same(result, tree)


def only(tree: Tree, names: set[str]) -> Tree:
    """The tree of just these copies: the loops around them and nothing else."""
    others = {name for node in tree for name in copies_in(node)} - names
    return without(tree, others)


def rename_copies(
    tree: Tree,
    names: Mapping[str, str],
    lift: Callable[[str, PwAff], PwAff],
    rename_loop: Callable[[str], str],
) -> Tree:
    """The tree over other copies: ``lift(old name, { C[i] -> [v] })`` gives the new value."""
    result: list[PlanLoop | str] = []
    for node in tree:
        if isinstance(node, str):
            result.append(names[node])
            continue
        values = {names[c]: lift(c, v) for c, v in node.values.items()}
        body = rename_copies(node.body, names, lift, rename_loop)
        result.append(replace(node, name=rename_loop(node.name), values=values, body=body))
    return tuple(result)


def copies_at(copies: Iterable[ScheduledStatement]) -> UnionMap:
    """``{ S[i] -> C[d] }``: the instances of the source and what runs them."""
    return union_all(
        copy.to_instance.as_map().intersect_domain(copy.domain).reverse() for copy in copies
    )


def prefix_map(copy: ScheduledStatement, loops: tuple[PlanLoop, ...]) -> Map:
    """``{ C[d] -> [v1, ..., vk] }``: the values of loops around a copy, on its domain."""
    result = Map.from_domain(copy.domain)
    for loop in loops:
        value = Map.from_pw_aff(loop.values[copy.name])
        result = result.flat_range_product(value)
    return result.intersect_domain(copy.domain)


def time_map(
    copy: ScheduledStatement,
    place: SchedulePosition,
    clock: Sequence[bool],
    micro: int | None = None,
) -> Map:
    """``{ C[d] -> [position, value, position, ..., micro] }``, padded to the length of the clock,
    for all ``d``.

    ``clock`` says for each level whether textual positions differ there (see ``clock_of``): a
    column that is the same for all tells no two events apart, and every column costs the proof.
    """
    space = copy.domain.get_space()
    parts: list[PwAff] = []
    for level, told in enumerate(clock):
        if told:
            position = place.positions[level] if level < len(place.positions) else 0
            parts.append(affine_constant(space, position))
        if level < len(clock) - 1:
            inside = level < len(place.loops)
            zero = affine_constant(space, 0)
            parts.append(place.loops[level].values[copy.name] if inside else zero)
    if micro is not None:
        parts.append(affine_constant(space, micro))
    result = Map.from_pw_aff(parts[0])
    for part in parts[1:]:
        result = result.flat_range_product(Map.from_pw_aff(part))
    return result


def clock_of(found: Collection[SchedulePosition]) -> tuple[bool, ...]:
    """Per level of a tree, whether textual positions differ there; always so at the root.

    What comes after everything has a position of its own at the root.
    """
    depth = max((len(place.loops) for place in found), default=0)
    inner = (
        {p.positions[level] if level < len(p.positions) else 0 for p in found}
        for level in range(1, depth + 1)
    )
    return (True, *(len(positions) > 1 for positions in inner))


def source_copy(statement: Statement, context: Set) -> ScheduledStatement:
    """The copy of a statement that runs its own domain, once each."""
    return ScheduledStatement(statement.name, statement, statement.domain.intersect_params(context))


def iterator_value(copy: ScheduledStatement, level: int, sign: int) -> PwAff:
    """``{ C[d] -> [i_level] }``, negated for a descending loop."""
    value = affine_var(copy.domain.get_space(), copy.outer + level)
    return value.neg() if sign < 0 else value
