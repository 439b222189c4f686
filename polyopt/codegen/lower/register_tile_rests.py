"""Register tiles at a border: partial tiles in nests of their own, whose extents are constant.

rewrite: ``for (k) for (i < min(4, N - 4 * t)) ...`` ->
``if (t < N / 4) for (k) for (i < 4) ...; else for (k) for (i < N % 4) ...``

relation: ``{ C[d] -> [t, k, b] }`` is divided by ``{ [t] }``: per loop of the block, the tiles of
its full extent, and the others. A loop over zeros right before the nest is divided with it, so
that each part starts from them.

*Requires* a nest whose operands have no room for whole blocks at the border, and parts that all
make blocks. *Does not apply* elsewhere: the program then stays as it is.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from polyopt.codegen.lower.register_tile import block_of, named, nest_of
from polyopt.isl import affine_constant, dim_type
from polyopt.transform.schedule.query import find_loop, path_to
from polyopt.transform.schedule.tree import (
    PlanLoop,
    copies_in,
    loops_of,
    replace_loop,
    with_values,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from polyopt.codegen.lower.register_tile import Nest
    from polyopt.isl import PwAff, Set
    from polyopt.transform.schedule.program import ScheduledProgram

#: parts of a nest: partial tiles along two of its loops, and along both
_MOST_PARTS = 4


def with_rests(program: ScheduledProgram) -> ScheduledProgram:
    """The program with the partial tiles of loops marked ``register_tile`` apart."""
    for loop in loops_of(program.tree):
        if loop.mark == "register_tile":
            nest = nest_of(program, find_loop(program, loop.name))
            if nest is not None and block_of(program, nest) is None:
                program = _in_parts(program, nest) or program
    return program


def makes_blocks(program: ScheduledProgram, name: str) -> bool:
    """Whether a loop marked ``register_tile`` is one in the code, as a whole or in parts."""
    nest = nest_of(program, find_loop(program, name))
    if nest is None:
        return False
    return block_of(program, nest) is not None or _in_parts(program, nest) is not None


def _in_parts(program: ScheduledProgram, nest: Nest) -> ScheduledProgram | None:
    """The program with the partial tiles of a nest apart; ``None`` where some make no blocks."""
    parts = [*_parts(nest)]
    if not 1 < len(parts) <= _MOST_PARTS:
        return None
    made, loops = _divided(program, nest, parts)
    nests = [nest_of(made, find_loop(made, loop)) for loop in loops]
    if all(nest is not None and block_of(made, nest) is not None for nest in nests):
        return made
    return None


def _parts(nest: Nest) -> Iterator[Set]:
    """``{ [t] }`` of tiles that have the same loops of full extent: first those that have all."""
    blocks = nest.times.project_out(dim_type.set, nest.outer, nest.reductions)
    tiles = blocks.project_out(dim_type.set, nest.outer, len(nest.extents))
    ways: list[tuple[Set, Set]] = []
    for place, extent in enumerate(nest.extents):
        others = len(nest.extents) - place - 1
        along = blocks.project_out(dim_type.set, nest.outer + place + 1, others)
        length = _length(along.project_out(dim_type.set, nest.outer, place))
        full = length.eq_set(affine_constant(length.get_space().domain(), extent))
        ways.append((tiles.intersect(full).coalesce(), tiles.subtract(full).coalesce()))
    for chosen in product((0, 1), repeat=len(ways)):
        part = ways[0][chosen[0]]
        for way, which in zip(ways[1:], chosen[1:], strict=True):
            part = part.intersect(way[which])
        if not part.is_empty():
            yield part.coalesce()


def _length(along: Set) -> PwAff:
    """``{ [t] -> [n] }`` of ``{ [t, b] }``: the values of ``b`` lie in a range of this length."""
    last = along.dim(dim_type.set) - 1
    #: { [t] -> [b] }
    values = along.identity().project_out(dim_type.in_, last, 1).project_out(dim_type.out, 0, last)
    extremes = values.dim_max(0).sub(values.dim_min(0))
    return extremes.add(affine_constant(extremes.get_space().domain(), 1)).coalesce()


def _divided(
    program: ScheduledProgram, nest: Nest, parts: Sequence[Set]
) -> tuple[ScheduledProgram, tuple[str, ...]]:
    """The program with a nest, and the loop over zeros before it, once for each part; and the
    names of the parts' marked loops. The first part keeps names."""
    path = path_to(program, nest.loop.name)
    shared = next((k for k in reversed(range(nest.outer)) if len(path[k].body) > 1), nest.outer - 1)
    top = path[shared + 1]
    around = path[shared].body
    place = around.index(top)
    before = around[place - 1] if place else None
    nodes = [top]
    if isinstance(before, PlanLoop) and len(copies_in(before)) == 1 and _is_of(parts, shared + 1):
        nodes.insert(0, before)
    copies = dict(program.copies)
    values: dict[str, dict[str, PwAff]] = {}
    bodies: list[PlanLoop] = []
    marked: list[str] = []
    for number, part in enumerate(parts):
        suffix = f"_rest{number}" if number else ""
        for node in nodes:
            (name,) = copies_in(node)
            depth = nest.outer if node is top else shared + 1
            wanted = part.project_out(dim_type.set, depth, nest.outer - depth)
            old, new = program.copies[name], f"{name}{suffix and '#'}{suffix[1:]}"
            prefix = program.prefixes[name]
            count = prefix.dim(dim_type.out) - depth
            domain = prefix.intersect_range(wanted.add_dims(dim_type.set, count)).domain()
            copies[new] = replace(old, name=new, domain=domain.coalesce().set_tuple_name(new))
            for loop in path[: shared + 1]:
                values.setdefault(loop.name, {})[new] = named(loop.values[name], new)
            bodies.append(_again(node, new, suffix))
        marked.append(f"{nest.loop.name}{suffix}")
    tree = program.tree
    if len(nodes) > 1:
        tree = replace_loop(tree, nodes[0].name, lambda _: ())
    tree = replace_loop(tree, top.name, lambda _: tuple(bodies))
    return replace(program, copies=copies, tree=with_values(tree, values)), tuple(marked)


def _is_of(parts: Sequence[Set], depth: int) -> bool:
    """Whether parts ``{ [t] }`` are told by the outer ``depth`` loops alone."""
    count = parts[0].dim(dim_type.set)
    seen = [part.project_out(dim_type.set, depth, count - depth) for part in parts]
    return all(
        one.is_disjoint(other) for k, one in enumerate(seen) for other in seen[k + 1 :]
    )  # fmt: skip


def _again(node: PlanLoop, copy: str, suffix: str) -> PlanLoop:
    """A nest of one statement, over a copy of it."""
    (value,) = node.values.values()
    values = {copy: named(value, copy)}
    body = tuple(_again(n, copy, suffix) if isinstance(n, PlanLoop) else copy for n in node.body)
    return replace(node, name=f"{node.name}{suffix}", values=values, body=body)
